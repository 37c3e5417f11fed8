package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"golang.org/x/sys/unix"
)

// mounted puts a small file system of its own under the data folder of a place.
func (p place) mounted(t *testing.T, options string) string {
	t.Helper()
	dir := filepath.Join(p.dir, "reeve-data")
	if err := os.MkdirAll(dir, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := unix.Mount("tmpfs", dir, "tmpfs", 0, "mode=0700,"+options); err != nil {
		t.Skipf("a file system can be mounted by root alone, and not in every container: %v", err)
	}
	t.Cleanup(func() { _ = unix.Unmount(dir, unix.MNT_DETACH) })
	return dir
}

func TestADatabaseThatIsReadOnly(t *testing.T) {
	p := newPlace(t, "sqlite")
	dir := p.mounted(t, "size=16m")
	p.ok(t, "init")
	if err := unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_RDONLY, ""); err != nil {
		t.Fatal(err)
	}
	for _, args := range [][]string{{"serve", "--listen", "127.0.0.1:0"}, {"migrate"}, {"people", "list"}} {
		p.run(t, args...).refused(t, 1, "reeve-data", "cannot be", "folder")
	}
	got, r := p.doctor(t)
	if !strings.HasPrefix(got.of("disk"), "fail: ./reeve-data is on a disk that is read-only.") || !strings.HasPrefix(got.of("database"), "fail: ") || r.code != 1 {
		t.Errorf("the doctor says %s", r.out)
	}
}

func TestADiskThatIsFull(t *testing.T) {
	p := newPlace(t, "sqlite")
	dir := p.mounted(t, "size=3m")
	s := p.serve(t, "--metrics-listen", "127.0.0.1:0")
	in := s.record(t, renewal)
	fill(t, filepath.Join(dir, "others"))
	long := `{"type":"note","title":"long","body":"` + strings.Repeat("x ", 3_000) + `"}`
	refusals := 0
	for n := 0; refusals == 0 && n < 200; n++ {
		status, body := s.send(t, "POST", "/v1/intents", s.agent, `{"action":`+strings.Replace(long, "long", "long "+number(int64(n)), 1)+`}`)
		if status == 503 {
			refusals++
			if !strings.Contains(string(body), `"unavailable"`) || strings.Contains(string(body), dir) {
				t.Errorf("it answers %s", body)
			}
		} else if status != 201 {
			t.Fatalf("%d %s", status, body)
		}
	}
	if refusals == 0 {
		t.Fatal("nothing was ever refused: the disk is not full")
	}
	eventually(t, "it is not ready", func() bool {
		status, _ := s.send(t, "GET", "/readyz", "", "")
		return status == 503
	})
	eventually(t, "its log says why", func() bool { return strings.Contains(s.err.String(), "is full: make room and try again") })
	if got := s.look(t, in.ID); got.Status != "pending_approval" {
		t.Errorf("what was recorded before is %+v", got)
	}
	if text := s.figures(t); !strings.Contains(text, "reeve_store_up 1") || !strings.Contains(text, `reason="unavailable",verdict="unavailable"`) {
		t.Error("the metrics do not tell")
	}
	got, r := p.doctor(t)
	if !strings.HasPrefix(got.of("disk"), "fail: 0 MiB are left") || r.code != 1 {
		t.Errorf("the doctor says %s", r.out)
	}
	p.run(t, "backup", "--to", filepath.Join("reeve-data", "b.db")).refused(t, 1, "no backup was made", "is full")
	if left, _ := filepath.Glob(filepath.Join(dir, ".*part*")); len(left) > 0 {
		t.Errorf("the backup left %v", left)
	}
	// Room is made, and it goes on by itself.
	if err := os.Remove(filepath.Join(dir, "others")); err != nil {
		t.Fatal(err)
	}
	eventually(t, "it is ready again", func() bool {
		status, _ := s.send(t, "GET", "/readyz", "", "")
		return status == 200
	})
	s.record(t, `{"type":"note","title":"after"}`)
}

// fill writes a file until there is no room for more.
func fill(t *testing.T, file string) {
	t.Helper()
	f, err := os.OpenFile(file, os.O_CREATE|os.O_WRONLY, 0o600)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	block := make([]byte, 4096)
	for {
		if _, err := f.Write(block); err != nil {
			return
		}
	}
}
