package main

import (
	"encoding/json"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator/operatortest"
)

func TestABackupIsMadeBesideAServerAndRestored(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	in := s.record(t, renewal)
	out := p.ok(t, "backup", "--to", "b.db")
	if !strings.Contains(out, "looked through and sound") || !strings.Contains(out, filepath.Join("reeve-data", "audit.key")) {
		t.Errorf("it says %s", out)
	}
	p.run(t, "backup", "--to", "b.db").refused(t, 1, "a file b.db already")
	p.run(t, "backup", "--to", "none/b.db").refused(t, 1, "none/b.db cannot be written")
	p.run(t, "backup", "--dir", "none", "--to", "c.db").refused(t, 1, "there is no database in none")
	p.run(t, "backup", "--database-url", "postgres://me:hunter2@db/x", "--to", "c.db").refused(t, 1, "pg_dump", "pg_basebackup", "audit key")
	s.record(t, `{"type":"note","title":"later"}`)

	q := newPlace(t, "sqlite")
	for from, to := range map[string]string{"b.db": databaseFile, filepath.Join("reeve-data", "audit.key"): "audit.key"} {
		q.file(t, "x", "")
		if err := os.MkdirAll(filepath.Join(q.dir, "reeve-data"), 0o700); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(q.dir, "reeve-data", to), []byte(read(t, filepath.Join(p.dir, from))), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	if out := q.ok(t, "doctor"); strings.Contains(out, "fail") {
		t.Errorf("the doctor finds the restored one unwell:\n%s", out)
	}
	restored := q.serve(t)
	restored.agent = s.agent
	if got := restored.look(t, in.ID); got.Status != "pending_approval" || restored.countIntents(t) != 1 {
		t.Errorf("%+v", got)
	}
}

func TestMigrateSaysWhereTheSchemaStands(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		p := newPlace(t, store)
		p.ok(t, "init")
		for _, args := range [][]string{{"migrate", "--check"}, {"migrate"}} {
			if out := p.ok(t, args...); !strings.Contains(out, "The schema stands at ") {
				t.Errorf("%v says %s", args, out)
			}
		}
	})
	p := newPlace(t, "sqlite")
	for _, args := range [][]string{{"migrate"}, {"migrate", "--check"}} {
		p.run(t, args...).refused(t, 1, "there is no database in ./reeve-data")
	}
	if _, err := os.Stat(filepath.Join(p.dir, "reeve-data")); err == nil {
		t.Error("it made a folder")
	}
}

// unwell is the doctor's report as a program reads it.
type unwell struct {
	OK       bool `json:"ok"`
	Findings []finding
}

func (p place) doctor(t *testing.T, args ...string) (unwell, result) {
	t.Helper()
	r := p.run(t, append([]string{"doctor", "--json"}, args...)...)
	var out unwell
	if err := json.Unmarshal([]byte(r.out), &out); err != nil {
		t.Fatalf("%v\n%s%s", err, r.out, r.err)
	}
	if out.OK != (r.code == 0) {
		t.Errorf("ok is %v, and exit %d", out.OK, r.code)
	}
	if leak := anyToken.FindString(r.out + r.err); leak != "" {
		t.Error("it shows a credential")
	}
	return out, r
}

// of gives what was found of a check that is not ok, as "grade: words".
func (u unwell) of(check string) string {
	var out []string
	for _, f := range u.Findings {
		if f.Check == check && f.Grade != fine {
			if f.Do == "" {
				out = append(out, "(it does not say what to do)")
			}
			out = append(out, fmt.Sprintf("%s: %s", f.Grade, f.Says))
		}
	}
	return strings.Join(out, "; ")
}

func TestTheDoctorFindsWhatIsWrong(t *testing.T) {
	tooMany := "version: 1\nextends: default\nrules:\n  - id: many\n    match: {types: [spend]}\n    effect: requires_approval\n    reason: Many.\n    approval: {quorum: 3}\n"
	for _, c := range []struct {
		name  string
		upset func(t *testing.T, p place)
		args  []string
		check string
		says  string // "" for: nothing is wrong with it
	}{
		{"one owner", nil, nil, "people", "warn: The account default has one owner."},
		{"two owners", func(t *testing.T, p place) { p.ok(t, "people", "add", "ana", "--role", "owner") }, nil, "people", ""},
		{"a database that others can read", chmod(databaseFile, 0o644), nil, "files", "fail: reeve-data/reeve.db can be read or written by others: its mode is 0644."},
		{"a folder that others can write", chmod("", 0o777), nil, "files", "fail: ./reeve-data can be read or written by others"},
		{"an audit key that others can read", chmod("audit.key", 0o644), nil, "audit key", "fail: others can read the audit key"},
		{"an audit key that is gone", func(t *testing.T, p place) { os.Remove(filepath.Join(p.dir, "reeve-data", "audit.key")) }, nil, "audit key", "fail: the audit key is missing"},
		{"another audit key", func(t *testing.T, p place) {
			p.ok(t, "init", "--dir", "other")
			os.Rename(filepath.Join(p.dir, "other", "audit.key"), filepath.Join(p.dir, "reeve-data", "audit.key"))
		}, nil, "audit key", "fail: this is another audit key"},
		{"a credential's file that others can read", func(t *testing.T, p place) {
			os.Chmod(p.file(t, "person.token", "x"), 0o640)
		}, []string{"--token-file", "person.token"}, "credential", "fail: person.token can be read by others: its mode is 0640."},
		{"a credential's file of one's own", func(t *testing.T, p place) { p.file(t, "person.token", "x") }, []string{"--token-file", "person.token"}, "credential", ""},
		{"a credential that ends soon", func(t *testing.T, p place) {
			p.ok(t, "token", "create", "--kind", "agent", "--name", "brief", "--life", "2d")
		}, nil, "credentials", "warn: These end soon: agent:brief (in "},
		{"a quorum larger than the people", func(t *testing.T, p place) {
			p.file(t, "p.yaml", tooMany)
			s := p.serve(t, "--policy", "p.yaml")
			s.signal(t, os.Interrupt)
			s.ended(t, 20e9)
		}, nil, "policy", "fail: Account default, rule many: it asks for 3 people of the roles owner, admin, member, and the account has 1"},
		{"a record that nobody seals", func(t *testing.T, p place) {
			execAll(t, p.plain(t, "sqlite"), `update reeve_audit set at = at - 7200000000`)
		}, nil, "seal", "warn: "},
		{"a clock that was set back", func(t *testing.T, p place) {
			execAll(t, p.plain(t, "sqlite"), `update reeve_audit set at = at + 7200000000`)
		}, nil, "clock", "fail: The newest row of the record is 2h0m0s ahead of this machine's clock."},
		{"a credential that nobody ever used", func(t *testing.T, p place) {
			execAll(t, p.plain(t, "sqlite"), `update reeve_credentials set created_at = created_at - 3456000000000`)
		}, nil, "credentials", "warn: These were made more than 30 days ago and never used: human:owner, agent:agent."},
		{"an account without an owner", func(t *testing.T, p place) {
			execAll(t, p.plain(t, "sqlite"), `update reeve_people set role = 'member'`)
		}, nil, "people", "fail: The account default has no owner."},
		{"a hook that cannot be called", nil, []string{"--notify", "exec:no-such-program"}, "notify", "fail: The hook cannot be called: there is no command no-such-program here."},
		{"a hook that can", nil, []string{"--notify", "exec:cat"}, "notify", ""},
		{"an address beyond loopback", nil, []string{"--listen", "0.0.0.0:3401"}, "settings", "warn: --listen 0.0.0.0:3401 can be reached"},
		{"metrics beyond loopback", nil, []string{"--metrics-listen", ":9464"}, "settings", "warn: --metrics-listen :9464 can be reached"},
		{"no rate", nil, []string{"--rate", "0"}, "settings", "warn: Nothing bounds how many requests"},
		{"nothing", nil, nil, "settings", ""},
		{"nothing", nil, nil, "clock", ""},
	} {
		t.Run(c.name, func(t *testing.T) {
			p := newPlace(t, "sqlite")
			p.ok(t, "init")
			if c.upset != nil {
				c.upset(t, p)
			}
			got, r := p.doctor(t, c.args...)
			said := got.of(c.check)
			if c.says == "" && said != "" || !strings.Contains(said, c.says) {
				t.Errorf("of %s it says %q", c.check, said)
			}
			if strings.HasPrefix(c.says, "fail") != (r.code == 1) {
				t.Errorf("exit %d\n%s", r.code, r.out)
			}
		})
	}
}

func chmod(name string, mode os.FileMode) func(*testing.T, place) {
	return func(t *testing.T, p place) {
		if err := os.Chmod(filepath.Join(p.dir, "reeve-data", name), mode); err != nil {
			t.Fatal(err)
		}
	}
}

func TestTheDoctorLooksAtPostgreSQLToo(t *testing.T) {
	p := newPlace(t, "postgres")
	p.ok(t, "init")
	got, _ := p.doctor(t)
	if got.of("database") != "" || got.of("clock") != "" || got.of("schema") != "" {
		t.Errorf("it says %+v", got)
	}
	down := newPlace(t, "sqlite").with("REEVE_DATABASE_URL=postgres://me:hunter2@127.0.0.1:1/db?sslmode=disable")
	gone, r := down.doctor(t)
	if !strings.HasPrefix(gone.of("database"), "fail: ") || strings.Contains(r.out, "hunter2") {
		t.Errorf("it says %+v", gone)
	}
}

func TestTheDoctorAsksWhetherAServerIsReady(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	_, port, err := net.SplitHostPort(strings.TrimPrefix(s.url, "http://"))
	if err != nil {
		t.Fatal(err)
	}
	if out := p.ok(t, "doctor", "--ready", "--listen", "0.0.0.0:"+port); out != "ready\n" {
		t.Errorf("it says %s", out)
	}
	p.run(t, "doctor", "--ready", "--listen", "127.0.0.1:1").refused(t, 1, "no server answers at http://127.0.0.1:1")
	os.Remove(filepath.Join(p.dir, "reeve-data", databaseFile))
	p.run(t, "doctor", "--ready", "--listen", "127.0.0.1:"+port).refused(t, 1, "is not ready (503)")
}
