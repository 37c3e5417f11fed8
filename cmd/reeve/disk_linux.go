package main

import "golang.org/x/sys/unix"

// networkKinds are the file systems that other machines keep, by their magic numbers.
var networkKinds = map[int64]string{
	unix.NFS_SUPER_MAGIC: "NFS", unix.SMB_SUPER_MAGIC: "SMB", unix.SMB2_SUPER_MAGIC: "SMB", unix.CIFS_SUPER_MAGIC: "CIFS",
	unix.CEPH_SUPER_MAGIC: "Ceph", unix.AFS_SUPER_MAGIC: "AFS", unix.CODA_SUPER_MAGIC: "Coda", unix.V9FS_MAGIC: "9p", unix.OCFS2_SUPER_MAGIC: "OCFS2",
}

func diskOf(dir string) (disk, error) {
	var s unix.Statfs_t
	if err := unix.Statfs(dir, &s); err != nil {
		return disk{}, err
	}
	block := uint64(s.Bsize)
	return disk{room: s.Bavail * block, size: s.Blocks * block, network: networkKinds[int64(uint32(s.Type))], readOnly: s.Flags&unix.ST_RDONLY != 0}, nil
}
