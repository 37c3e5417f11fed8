package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/reeve-go/reeve/operator/operatortest"
)

// audited is a place where something was recorded, approved and carried out, with
// the record exported to audit.jsonl.
func audited(t *testing.T, store string) (p place, s *server, key string) {
	t.Helper()
	p = newPlace(t, store).with("REEVE_AUDIT_KEY=" + filepath.Join("reeve-data", "audit.key"))
	s = p.serve(t)
	s.approve(t, s.personIn(t, p), renewal)
	p.ok(t, "work", "--once", "--handler", "spend=exec:true")
	p.ok(t, "audit", "export", "--out", "audit.jsonl")
	return p, s, strings.TrimSpace(p.ok(t, "audit", "checkpoint", "--key"))
}

func TestAnExportedRecordIsVerifiedByItsFileAlone(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		p, s, key := audited(t, store)
		keyFile := filepath.Join("reeve-data", "audit.key")
		if !strings.Contains(s.out.String(), "audit key in "+keyFile) || !strings.Contains(s.out.String(), key) {
			t.Errorf("serve does not say where its key is:\n%s", s.out)
		}
		for _, name := range []string{"audit.jsonl", keyFile} {
			if info, err := os.Stat(filepath.Join(p.dir, name)); err != nil || info.Mode().Perm() != 0o600 {
				t.Errorf("%s: %v, %v", name, info.Mode(), err)
			}
		}
		text := read(t, filepath.Join(p.dir, "audit.jsonl"))
		early := p.ok(t, "audit", "checkpoint")
		away := place{dir: t.TempDir()} // neither a database nor a key
		away.file(t, "audit.jsonl", text)
		away.file(t, "key", key+"\n")
		away.file(t, "early", early)
		for _, args := range [][]string{{"--key", key}, {"--key", "key"}, {"--key", key, "--checkpoint", "early", "--account", "default"}} {
			if out := away.ok(t, append([]string{"audit", "verify", "audit.jsonl"}, args...)...); !strings.Contains(out, "It is whole") || strings.Contains(out, "in itself") {
				t.Errorf("%v: %s", args, out)
			}
		}
		if out := away.ok(t, "audit", "verify", "audit.jsonl"); !strings.Contains(out, "whole in itself") || !strings.Contains(out, "1 executions") {
			t.Errorf("without a key: %s", out)
		}
		if out := away.feed(t, text, "audit", "verify", "-", "--json"); out.code != 0 || !strings.Contains(out.out, `"executions": 1`) {
			t.Errorf("from standard input: %+v", out)
		}
		if left, _ := os.ReadDir(away.dir); len(left) != 3 {
			t.Errorf("verifying made %v", left)
		}
		lines := strings.SplitAfter(text, "\n")
		away.file(t, "altered", strings.Replace(text, "pending_approval -> approved", "pending_approval -> rejected", 1))
		away.file(t, "removed", strings.Replace(text, lines[2], "", 1))
		away.file(t, "spelled", strings.Replace(text, lines[2], " "+lines[2], 1))
		away.run(t, "audit", "verify", "altered").refused(t, 1, "line ", "not those that were sealed")
		away.run(t, "audit", "verify", "removed").refused(t, 1, "line ", "not those that were sealed")
		away.run(t, "audit", "verify", "spelled").refused(t, 1, "line 3")
		away.run(t, "audit", "verify", "audit.jsonl", "--account", "other").refused(t, 1, "another log")
		away.run(t, "audit", "verify", "none").refused(t, 1, "none cannot be read")
		away.run(t, "audit", "verify", ".").refused(t, 1, "cannot be read")
		away.run(t, "audit", "verify", "audit.jsonl", "--key", "reeve+x").refused(t, 2, "--key")
		away.run(t, "audit", "verify", "audit.jsonl", "--key", "early").refused(t, 2, "--key")
		away.run(t, "audit", "verify", "audit.jsonl", "--checkpoint", "key").refused(t, 1, "earlier checkpoint")
	})
}

func TestTheKeyIsRotatedWhileTheServerRuns(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		p, s, old := audited(t, store)
		early := p.file(t, "early", p.ok(t, "audit", "checkpoint"))
		out := p.ok(t, "audit", "rotate")
		key := strings.TrimSpace(p.ok(t, "audit", "checkpoint", "--key"))
		if key == old || !strings.Contains(out, key) {
			t.Errorf("rotated from %s to %s: %s", old, key, out)
		}
		s.approve(t, s.personIn(t, p), `{"type":"spend","title":"Another","amount_cents":1}`)
		p.ok(t, "audit", "export", "--out", "audit.jsonl")
		for _, k := range []string{old, key} {
			p.ok(t, "audit", "verify", "audit.jsonl", "--key", k, "--checkpoint", early)
		}
		if store == "sqlite" {
			file := filepath.Join(p.dir, "reeve-data", "audit.key")
			if err := os.Remove(file); err != nil {
				t.Fatal(err)
			}
			p.run(t, "people", "add", "ana").refused(t, 1, "missing", key, "audit rotate")
			p.ok(t, "people", "list") // what only looks needs no key
			p.ok(t, "audit", "rotate", "--lost")
			p.ok(t, "people", "list")
			p.ok(t, "audit", "export", "--out", "audit.jsonl")
			p.run(t, "audit", "verify", "audit.jsonl", "--key", key).refused(t, 1, "trust")
			p.ok(t, "audit", "verify", "audit.jsonl", "--key", strings.TrimSpace(p.ok(t, "audit", "checkpoint", "--key")), "--checkpoint", early)
		}
	})
}

func TestACommandRefusesAKeyThatOthersCanRead(t *testing.T) {
	operatortest.EachStore(t, func(t *testing.T, store string) {
		p, _, _ := audited(t, store)
		file := filepath.Join(p.dir, "reeve-data", "audit.key")
		if err := os.Chmod(file, 0o644); err != nil {
			t.Fatal(err)
		}
		p.run(t, "audit", "export", "--audit-key", file).refused(t, 1, "others can read", "chmod 600")
		p.with("REEVE_AUDIT_KEY="+file).run(t, "people", "add", "ana").refused(t, 1, "others can read")
		if store == "postgres" { // a server without a copy of the key
			elsewhere := place{dir: t.TempDir(), env: p.env[:1]}
			elsewhere.run(t, "serve", "--listen", "127.0.0.1:0").refused(t, 1, "the audit key is missing", "--audit-key")
			elsewhere.ok(t, "people", "list")
		}
	})
}
