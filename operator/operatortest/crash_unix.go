//go:build unix

package operatortest

import (
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
)

// Cluster is a PostgreSQL of the test's own, which keeps what it acknowledges
// (fsync on), for tests of what is left after it went down hard.
type Cluster struct {
	URL     string // of its database postgres
	t       testing.TB
	dir     string
	command []string
	as      *syscall.SysProcAttr
	server  *exec.Cmd
	leash   io.Closer
}

// leashed runs a server until the other end of its standard input is closed, which
// the test binary's end does, however that comes about.
const leashed = `"$@" & server=$!
cat >/dev/null
kill -QUIT $server 2>/dev/null
wait $server`

// NewCluster starts one on a free port, and takes it away when the test ends. Where
// the machine has no initdb and postgres the test is skipped, and under CI=true it
// fails.
func NewCluster(t testing.TB) *Cluster {
	t.Helper()
	bin, err := postgresBinaries()
	if err != nil {
		if os.Getenv("CI") == "true" {
			t.Fatal(err)
		}
		t.Skip(err)
	}
	must := func(err error) {
		t.Helper()
		if err != nil {
			t.Fatal(err)
		}
	}
	dir, err := os.MkdirTemp("", "reeve-cluster-")
	must(err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	as, err := ordinaryUser(dir)
	must(err)
	must(initCluster(bin, dir, as))
	port, err := freePort()
	must(err)
	c := &Cluster{URL: "postgres://postgres@127.0.0.1:" + port + "/postgres?sslmode=disable", t: t, dir: dir, as: as,
		command: []string{"-c", leashed, "sh", filepath.Join(bin, "postgres"), "-D", filepath.Join(dir, "data"), "-p", port, "-k", dir,
			"-c", "listen_addresses=127.0.0.1", "-c", "max_connections=100"}}
	c.start()
	t.Cleanup(c.stop)
	return c
}

func (c *Cluster) start() {
	c.t.Helper()
	c.server = exec.Command("sh", c.command...)
	c.server.SysProcAttr, c.server.Dir = c.as, c.dir
	leash, err := c.server.StdinPipe()
	if err == nil {
		err = c.server.Start()
	}
	if err == nil {
		c.leash = leash
		err = untilItAnswers(c.URL)
	}
	if err != nil {
		c.t.Fatalf("the cluster did not start: %v", err)
	}
}

func (c *Cluster) stop() {
	c.leash.Close()
	_ = c.server.Wait() // that it was killed is its result
}

// Crash kills the server without notice, as a machine that loses its power would,
// and starts it again, which recovers what was committed.
func (c *Cluster) Crash() {
	c.t.Helper()
	raw, err := os.ReadFile(filepath.Join(c.dir, "data", "postmaster.pid"))
	if err != nil {
		c.t.Fatal(err)
	}
	line, _, _ := strings.Cut(string(raw), "\n")
	pid, err := strconv.Atoi(line)
	if err != nil {
		c.t.Fatal(err)
	}
	if err := syscall.Kill(pid, syscall.SIGQUIT); err != nil {
		c.t.Fatal(err)
	}
	c.stop()
	c.start()
}
