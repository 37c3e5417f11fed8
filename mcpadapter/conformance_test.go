package mcpadapter

import (
	"context"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"go.yaml.in/yaml/v4"
)

// suite is the folder with the official suite, which npm installs, and what it is
// expected to find.
const suite = "conformancetest"

// TestTheOfficialSuiteFindsNothingButWhatIsNotOffered runs everything that the suite
// has of a version, also what does not count towards conforming.
func TestTheOfficialSuiteFindsNothingButWhatIsNotOffered(t *testing.T) {
	program := installed(t, "conformance")
	page, err := os.ReadFile("../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		t.Run(version, func(t *testing.T) {
			text, err := os.ReadFile(baselineOf(version))
			if err != nil {
				t.Fatal(err)
			}
			expected, err := readBaseline(string(text))
			if err != nil {
				t.Fatal(err)
			}
			results := conform(t, program, version)
			wholeSuite(t, version, results)
			unexpected, stale := judge(results, expected)
			for _, one := range unexpected {
				t.Errorf("fails, and is not in %s: %s", baselineOf(version), one)
			}
			for _, one := range stale {
				t.Errorf("stands in %s, and does not fail: %s", baselineOf(version), one)
			}
			if line := tally(version, results); !strings.Contains(string(page), line+"\n") {
				t.Errorf("docs/conformance.md has no line %s", line)
			}
		})
	}
}

// TestThePageAboutConformanceNamesAllThatIsNotOffered and nothing else.
func TestThePageAboutConformanceNamesAllThatIsNotOffered(t *testing.T) {
	page, err := os.ReadFile("../docs/conformance.md")
	if err != nil {
		t.Fatal(err)
	}
	why := map[string]string{}
	for _, version := range []string{"2026-07-28", "2025-11-25"} {
		text, err := os.ReadFile(baselineOf(version))
		if err != nil {
			t.Fatal(err)
		}
		b, err := readBaseline(string(text))
		if err != nil {
			t.Fatalf("%s: %v", baselineOf(version), err)
		}
		maps.Copy(why, b.why)
	}
	_, table, _ := strings.Cut(string(page), "| not offered | why |\n|---|---|\n")
	var named []string
	for line := range strings.Lines(table) {
		cells := strings.Split(line, " | ")
		if !strings.HasPrefix(line, "| ") || len(cells) < 2 {
			break // the table ends here
		}
		named = append(named, strings.TrimPrefix(cells[0], "| "))
	}
	slices.Sort(named)
	if want := slices.Sorted(maps.Keys(why)); !slices.Equal(named, want) {
		t.Errorf("the page names %q, the baselines have %q", named, want)
	}
}

func baselineOf(version string) string {
	return filepath.Join(suite, "baseline-"+version+".yaml")
}

// conform runs the suite against a fresh server, and demands that it comes to the
// same judgement as we shall.
func conform(t *testing.T, program, version string) map[string]checked {
	t.Helper()
	s, agent, _, _ := openSchedule(t)
	address, out := behindProxy(t, withFixtures(s), agent), t.TempDir()
	ctx, cancel := context.WithTimeout(t.Context(), 2*time.Minute)
	defer cancel()
	cmd := exec.CommandContext(ctx, program, "server", "--url", address, "--requirements", version,
		"--expected-failures", baselineOf(version), "--output-dir", out)
	cmd.Env = append(os.Environ(), "PATH="+filepath.Dir(program)+string(os.PathListSeparator)+os.Getenv("PATH"), "NO_COLOR=1")
	cmd.WaitDelay = 10 * time.Second
	said, err := cmd.CombinedOutput()
	if err != nil {
		_, summary, _ := strings.Cut(string(said), "=== SUMMARY ===")
		t.Errorf("the suite is not content: %v\n%s", err, summary)
	}
	return readResults(t, out)
}

// wholeSuite demands that each scenario of the version was run, and found something
// out.
func wholeSuite(t *testing.T, version string, results map[string]checked) {
	t.Helper()
	raw, err := os.ReadFile(filepath.Join(suite, "node_modules", "@modelcontextprotocol", "conformance", "requirements", version+".yaml"))
	if err != nil {
		t.Fatal(err)
	}
	var required struct {
		Server    []string
		NotScored []struct{ Scenario, Leg string } `yaml:"not_scored"`
	}
	if err := yaml.Unmarshal(raw, &required); err != nil {
		t.Fatal(err)
	}
	for _, more := range required.NotScored {
		if more.Leg == "server" {
			required.Server = append(required.Server, more.Scenario)
		}
	}
	if len(required.Server) < 30 {
		t.Errorf("the suite names only %d scenarios", len(required.Server))
	}
	for _, scenario := range required.Server {
		if len(results[scenario]) == 0 {
			t.Errorf("the scenario %s was not run", scenario)
		}
	}
}

// installed finds a program that npm put beside the baselines, or skips.
func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(suite, "node_modules", ".bin", name))
	if err == nil {
		_, err = os.Stat(path)
	}
	if err == nil {
		return path
	}
	const how = "run: npm ci --prefix mcpadapter/" + suite
	if os.Getenv("CI") == "true" {
		t.Fatalf("%s is not installed; %s", name, how)
	}
	t.Skipf("%s is not installed; %s", name, how)
	return ""
}
