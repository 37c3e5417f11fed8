//go:build unix

package operatortest

import (
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
	"time"
)

// watched runs a server for as long as the other end of its standard input is
// open, that is, for as long as the test binary lives, however that ends.
const watched = `"$@" & server=$!
cat >/dev/null
kill -QUIT $server
wait $server
rm -rf "$0"`

// ownCluster starts a PostgreSQL of its own on a free port. It does without
// fsync, for what is tested on it is thrown away.
func ownCluster() (string, error) {
	bin, err := postgresBinaries()
	if err != nil {
		return "", err
	}
	dir, err := os.MkdirTemp("", "reeve-postgres-")
	if err != nil {
		return "", err
	}
	as, err := ordinaryUser(dir)
	if err != nil {
		return "", err
	}
	if err := initCluster(bin, dir, as, "--no-sync"); err != nil {
		return "", err
	}
	port, err := freePort()
	if err != nil {
		return "", err
	}
	server := exec.Command("sh", "-c", watched, dir, filepath.Join(bin, "postgres"), "-D", filepath.Join(dir, "data"), "-p", port, "-k", dir,
		"-c", "listen_addresses=127.0.0.1", "-c", "fsync=off", "-c", "full_page_writes=off", "-c", "max_connections=200")
	server.SysProcAttr, server.Dir = as, dir
	if _, err := server.StdinPipe(); err != nil {
		return "", err
	}
	if err := server.Start(); err != nil {
		return "", err
	}
	address := "postgres://postgres@127.0.0.1:" + port + "/postgres?sslmode=disable"
	return address, untilItAnswers(address)
}

func untilItAnswers(address string) (err error) {
	for range 300 {
		if err = answers(address); err == nil {
			return nil
		}
		time.Sleep(100 * time.Millisecond)
	}
	return fmt.Errorf("a cluster was started, but does not answer: %w", err)
}

// initCluster makes the files of a cluster in the folder data within dir.
func initCluster(bin, dir string, as *syscall.SysProcAttr, more ...string) error {
	initdb := exec.Command(filepath.Join(bin, "initdb"), append([]string{"-D", filepath.Join(dir, "data"), "-U", "postgres", "-A", "trust", "-E", "UTF8"}, more...)...)
	initdb.SysProcAttr, initdb.Dir = as, dir
	if out, err := initdb.CombinedOutput(); err != nil {
		return fmt.Errorf("initdb: %w: %s", err, out)
	}
	return nil
}

// postgresBinaries finds the folder of initdb and postgres, which Debian keeps
// off the PATH.
func postgresBinaries() (string, error) {
	folders, _ := filepath.Glob("/usr/lib/postgresql/*/bin")
	if found, err := exec.LookPath("pg_ctl"); err == nil {
		if real, err := filepath.EvalSymlinks(found); err == nil {
			folders = append(folders, filepath.Dir(real))
		}
	}
	for i := len(folders) - 1; i >= 0; i-- {
		_, errInit := os.Stat(filepath.Join(folders[i], "initdb"))
		_, errServer := os.Stat(filepath.Join(folders[i], "postgres"))
		if errInit == nil && errServer == nil {
			return folders[i], nil
		}
	}
	return "", errors.New("no initdb and postgres on this machine")
}

// ordinaryUser gives the folder to somebody whom PostgreSQL agrees to run as:
// it refuses root.
func ordinaryUser(dir string) (*syscall.SysProcAttr, error) {
	if os.Geteuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, _ := strconv.Atoi(u.Uid)
		gid, _ := strconv.Atoi(u.Gid)
		if err := os.Chown(dir, uid, gid); err != nil {
			return nil, err
		}
		return &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}}, nil
	}
	return nil, errors.New("PostgreSQL does not run as root, and there is no user postgres or nobody")
}

func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", err
	}
	defer l.Close()
	_, port, err := net.SplitHostPort(l.Addr().String())
	return port, err
}
