// Package packaging holds what installs reeve, and no code but the tests of that.
package packaging

import (
	"bytes"
	"encoding/hex"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strings"
	"testing"
)

// missing skips a test for what the machine lacks, and fails it under CI.
func missing(t *testing.T, what string) {
	t.Helper()
	if os.Getenv("CI") == "true" {
		t.Fatal(what)
	}
	t.Skip(what)
}

func read(t *testing.T, file string) string {
	t.Helper()
	text, err := os.ReadFile(file)
	if err != nil {
		t.Fatal(err)
	}
	return string(text)
}

// unit is the unit with a program that is there: verify looks for it.
func unit(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("systemd-analyze"); err != nil {
		missing(t, "no systemd-analyze on this machine (Debian: systemd)")
	}
	file := filepath.Join(t.TempDir(), "reeve.service")
	text := strings.Replace(read(t, "reeve.service"), "ExecStart=/usr/local/bin/reeve", "ExecStart=/bin/true", 1)
	if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestTheUnitIsOneThatSystemdUnderstands(t *testing.T) {
	out, err := exec.Command("systemd-analyze", "verify", "--man=no", unit(t)).CombinedOutput()
	if err != nil || len(bytes.TrimSpace(out)) > 0 {
		t.Errorf("%v\n%s", err, out)
	}
}

func TestTheUnitExposesLittle(t *testing.T) {
	file := unit(t)
	out, err := exec.Command("systemd-analyze", "security", "--offline=true", "--no-pager", "--threshold=20", file).CombinedOutput()
	if err == nil {
		return
	}
	if strings.Contains(string(out), "unrecognized option") {
		missing(t, "this systemd-analyze cannot judge a file")
	}
	lines := strings.Split(strings.TrimSpace(string(out)), "\n")
	t.Errorf("%v: %s", err, lines[len(lines)-1])
}

// instructions are the lines of a Dockerfile: continued ones joined, comments left out.
func instructions(t *testing.T) [][2]string {
	t.Helper()
	var out [][2]string
	text := strings.ReplaceAll(read(t, "Dockerfile"), "\\\n", " ")
	for line := range strings.Lines(text) {
		line = strings.TrimSpace(line)
		if line == "" || line[0] == '#' {
			continue
		}
		word, rest, _ := strings.Cut(line, " ")
		out = append(out, [2]string{word, strings.TrimSpace(rest)})
	}
	return out
}

func TestTheImageIsSmallAndNobodysRoot(t *testing.T) {
	known := []string{"FROM", "ARG", "WORKDIR", "COPY", "RUN", "USER", "ENV", "VOLUME", "EXPOSE", "STOPSIGNAL", "HEALTHCHECK", "ENTRYPOINT", "CMD"}
	last := map[string]string{}
	for _, i := range instructions(t) {
		if !slices.Contains(known, i[0]) {
			t.Errorf("%s is no instruction that is used here", i[0])
		}
		if i[0] == "FROM" {
			clear(last)
		}
		if i[0] == "COPY" && !strings.Contains(i[1], "--from=") {
			for _, from := range strings.Fields(i[1])[:len(strings.Fields(i[1]))-1] {
				if _, err := os.Stat(filepath.Join("..", from)); err != nil {
					t.Errorf("it copies %s, which is not there", from)
				}
			}
		}
		last[i[0]] = i[1]
	}
	for word, want := range map[string]string{"FROM": "scratch", "USER": "65532:65532", "VOLUME": "/data", "ENTRYPOINT": `["/reeve"]`, "CMD": `["serve"]`} {
		if last[word] != want {
			t.Errorf("%s is %s, want %s", word, last[word], want)
		}
	}
	if !strings.Contains(last["HEALTHCHECK"], `CMD ["/reeve", "doctor", "--ready"]`) {
		t.Errorf("its health is checked by %s", last["HEALTHCHECK"])
	}
	version := regexp.MustCompile(`(?m)^go (\d+\.\d+)`).FindStringSubmatch(read(t, "../go.mod"))
	if !strings.Contains(read(t, "Dockerfile"), " golang:"+version[1]+" ") {
		t.Errorf("it is not built by Go %s, as go.mod has it", version[1])
	}
}

func TestAReleaseIsTheSameWhoeverBuildsIt(t *testing.T) {
	if testing.Short() {
		t.Skip("it builds the program twice")
	}
	for _, tool := range []string{"bash", "git", "tar", "gzip", "sha256sum"} {
		if _, err := exec.LookPath(tool); err != nil {
			missing(t, "no "+tool+" on this machine")
		}
	}
	target := runtime.GOOS + "/" + runtime.GOARCH
	var sums []string
	for range 2 {
		dist := t.TempDir()
		cmd := exec.Command("bash", "release.sh")
		cmd.Env = append(os.Environ(), "VERSION=9.8.7", "TARGETS="+target, "DIST="+dist, "SOURCE_DATE_EPOCH=1700000000")
		if out, err := cmd.CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, out)
		}
		sums = append(sums, read(t, filepath.Join(dist, "SHA256SUMS")))
		if len(sums) == 2 {
			unpack(t, dist, "reeve-9.8.7-"+strings.ReplaceAll(target, "/", "-"))
		}
	}
	if sums[0] != sums[1] {
		t.Errorf("%s and %s", sums[0], sums[1])
	}
	if sum, _, ok := strings.Cut(sums[0], " "); !ok || len(sum) != hex.EncodedLen(32) {
		t.Errorf("no sum in %q", sums[0])
	}
}

// unpack looks into an archive, and runs the program that is in it.
func unpack(t *testing.T, dist, name string) {
	t.Helper()
	if out, err := exec.Command("tar", "-C", dist, "-xzf", filepath.Join(dist, name+".tar.gz")).CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	out, err := exec.Command(filepath.Join(dist, name, "reeve"), "version").CombinedOutput()
	if err != nil || !strings.HasPrefix(string(out), "reeve 9.8.7 (go") {
		t.Errorf("%v: %s", err, out)
	}
	for _, file := range []string{"LICENSE", "README.md", "operation.md"} {
		if _, err := os.Stat(filepath.Join(dist, name, file)); err != nil {
			t.Error(err)
		}
	}
}
