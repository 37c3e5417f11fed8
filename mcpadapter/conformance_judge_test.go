package mcpadapter

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"go.yaml.in/yaml/v4"
)

// checked is what the suite found in one scenario, check by check. A check that was
// made several times counts with its worst outcome.
type checked map[string]string

// badness orders the outcomes. The suite takes a warning for a failure where there
// is a baseline, and so do we.
var badness = []string{"INFO", "SKIPPED", "SUCCESS", "WARNING", "FAILURE"}

func bad(outcome string) bool { return outcome == "WARNING" || outcome == "FAILURE" }

// resultFolder is what the suite calls the folder of one scenario.
var resultFolder = regexp.MustCompile(`^server-(.+)-\d{4}-\d{2}-\d{2}T[\d-]+Z$`)

// readResults reads what the suite wrote, by the scenario's name.
func readResults(t *testing.T, folder string) map[string]checked {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*", "checks.json"))
	if err != nil || len(files) == 0 {
		t.Fatalf("the suite wrote no results to %s: %v", folder, err)
	}
	out := map[string]checked{}
	for _, file := range files {
		name := resultFolder.FindStringSubmatch(filepath.Base(filepath.Dir(file)))
		if name == nil {
			t.Fatalf("%s is no scenario's folder", file)
		}
		raw, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		var checks []struct{ ID, Status string }
		if err := json.Unmarshal(raw, &checks); err != nil {
			t.Fatalf("%s: %v", file, err)
		}
		out[name[1]] = checked{}
		for _, c := range checks {
			out[name[1]].add(t, c.ID, c.Status)
		}
	}
	return out
}

func (c checked) add(t *testing.T, id, outcome string) {
	t.Helper()
	rank := slices.Index(badness, outcome)
	if rank < 0 {
		t.Fatalf("the check %s came to %q, which is no outcome that we know", id, outcome)
	}
	if before, there := c[id]; !there || slices.Index(badness, before) < rank {
		c[id] = outcome
	}
}

// baseline is the suite's own file of failures that are expected, as far as it may
// go here: single checks alone, each under a comment that names what is not offered
// and says why.
type baseline struct {
	entries []string          // "scenario:check"
	group   map[string]string // entry to the group that it stands in
	why     map[string]string // group to why
}

var (
	groupLine = regexp.MustCompile(`^  # ([a-z][a-z ]*): (\S.*)$`)
	moreLine  = regexp.MustCompile(`^  #   \S`)
	entryLine = regexp.MustCompile(`^  - ([a-z0-9-]+:[a-zA-Z0-9$_-]+)$`)
)

func readBaseline(text string) (baseline, error) {
	out := baseline{group: map[string]string{}, why: map[string]string{}}
	var file struct{ Server []string }
	if err := yaml.Unmarshal([]byte(text), &file); err != nil {
		return out, err
	}
	group := ""
	_, body, _ := strings.Cut(text, "server:\n")
	for line := range strings.Lines(body) {
		line = strings.TrimSuffix(line, "\n")
		if m := groupLine.FindStringSubmatch(line); m != nil {
			group = m[1]
			out.why[group] = m[2]
		} else if m := entryLine.FindStringSubmatch(line); m != nil && group != "" {
			if out.group[m[1]] != "" {
				return out, fmt.Errorf("%s stands twice", m[1])
			}
			out.entries, out.group[m[1]] = append(out.entries, m[1]), group
		} else if line != "" && !(moreLine.MatchString(line) && group != "") {
			return out, fmt.Errorf("%q is neither a reason nor one check under a reason", line)
		}
	}
	if !slices.Equal(out.entries, file.Server) {
		return out, fmt.Errorf("the suite reads %d entries, we read %d", len(file.Server), len(out.entries))
	}
	return out, nil
}

// judge holds the results to the baseline, both ways round.
func judge(results map[string]checked, b baseline) (unexpected, stale []string) {
	outcomes := map[string]string{}
	for scenario, checks := range results {
		for id, outcome := range checks {
			entry := scenario + ":" + id
			outcomes[entry] = outcome
			if bad(outcome) && b.group[entry] == "" {
				unexpected = append(unexpected, entry+" came to "+outcome)
			}
		}
	}
	for _, entry := range b.entries {
		if outcome, made := outcomes[entry]; !bad(outcome) {
			stale = append(stale, fmt.Sprintf("%s came to %q (made: %v)", entry, outcome, made))
		}
	}
	slices.Sort(unexpected)
	return unexpected, stale
}

// tally is the results in a line of the page about conformance.
func tally(version string, results map[string]checked) string {
	whole, passed, failing := 0, 0, 0
	for _, checks := range results {
		before := failing
		for _, outcome := range checks {
			switch {
			case outcome == "SUCCESS":
				passed++
			case bad(outcome):
				failing++
			}
		}
		if failing == before {
			whole++
		}
	}
	return fmt.Sprintf("| %s | %d | %d | %d | %d |", version, len(results), whole, passed, failing)
}

func TestTheBaselineIsHeldBothWaysRound(t *testing.T) {
	b, err := readBaseline("server:\n  # things: there are none.\n  #   Nor were there.\n  - one:a\n  - one:b\n")
	if err != nil {
		t.Fatal(err)
	}
	for name, c := range map[string]struct {
		results           map[string]checked
		unexpected, stale int
	}{
		"just what is expected":            {map[string]checked{"one": {"a": "FAILURE", "b": "WARNING", "c": "SUCCESS", "d": "INFO"}}, 0, 0},
		"another check fails":              {map[string]checked{"one": {"a": "FAILURE", "b": "FAILURE", "c": "FAILURE"}}, 1, 0},
		"another check is warned of":       {map[string]checked{"one": {"a": "FAILURE", "b": "FAILURE", "c": "WARNING"}}, 1, 0},
		"the check of another scenario":    {map[string]checked{"one": {"a": "FAILURE", "b": "FAILURE"}, "two": {"a": "FAILURE"}}, 1, 0},
		"one of them passes now":           {map[string]checked{"one": {"a": "SUCCESS", "b": "FAILURE"}}, 0, 1},
		"one of them is skipped now":       {map[string]checked{"one": {"a": "SKIPPED", "b": "FAILURE"}}, 0, 1},
		"one of them is not made any more": {map[string]checked{"one": {"a": "FAILURE"}}, 0, 1},
		"the scenario is gone":             {map[string]checked{}, 0, 2},
	} {
		unexpected, stale := judge(c.results, b)
		if len(unexpected) != c.unexpected || len(stale) != c.stale {
			t.Errorf("%s: unexpected %q, stale %q", name, unexpected, stale)
		}
	}
}

func TestABaselineNamesSingleChecksUnderAReason(t *testing.T) {
	for name, text := range map[string]string{
		"a whole scenario":       "server:\n  # things: none.\n  - one\n",
		"no reason":              "server:\n  - one:a\n",
		"an empty reason":        "server:\n  # things:\n  - one:a\n",
		"the same check twice":   "server:\n  # things: none.\n  - one:a\n  - one:a\n",
		"a mapping":              "server:\n  # things: none.\n  - one: a\n",
		"a check of a client":    "client:\n  - one:a\nserver:\n  # things: none.\n  - two:a\nclient2: []\n",
		"an entry out of place":  "server:\n  # things: none.\n- one:a\n",
		"something else between": "server:\n  # things: none.\n  - one:a\n  ## or so\n",
	} {
		if b, err := readBaseline(text); err == nil {
			t.Errorf("%s: was read as %+v", name, b)
		}
	}
}

func TestACheckThatIsMadeTwiceCountsWithItsWorst(t *testing.T) {
	c := checked{}
	for _, outcome := range []string{"SUCCESS", "FAILURE", "SUCCESS", "SKIPPED"} {
		c.add(t, "a", outcome)
	}
	if c["a"] != "FAILURE" {
		t.Error(c["a"])
	}
}
