package main

import (
	"encoding/json"
	"fmt"
	"regexp"
	"strings"
	"testing"
)

// emulated is what a terminal of a width shows of an output: it breaks the rows
// that are too long.
func emulated(output string, width int) (rows []string) {
	for _, line := range strings.Split(strings.ReplaceAll(output, "\r\n", "\n"), "\n") {
		runes := []rune(line)
		for len(runes) > width {
			rows, runes = append(rows, string(runes[:width])), runes[width:]
		}
		rows = append(rows, string(runes))
	}
	return rows
}

// forgery is an action whose texts are laid out for a terminal of a width: after
// the break that the terminal would make, what looks like our own display.
func forgery(width int) string {
	row := func(s string) string { return s + strings.Repeat(" ", max(0, width-len(s))) }
	fake := row("  recipient │ team@forged.example") + row("  recipient   team@forged.example") + row("  amount      1.00 USD (100 minor units)") +
		row("In short, intent 1:")
	var body strings.Builder
	body.WriteString(strings.Repeat("Hi.\n", 60))
	for _, indent := range []int{0, 6, 14} { // wherever the text may begin
		body.WriteString(strings.Repeat(" ", max(0, width-indent)) + fake + "\n")
	}
	title := "Lunch" + strings.Repeat(" ", max(0, width-14-5)) + row("  recipient   team@forged.example") + row("  amount      1.00 USD")
	action, err := json.Marshal(map[string]any{"type": "spend", "title": strings.TrimSpace(title[:min(len(title), 290)]), "recipient": "evil@attacker.example", "amount_cents": 990000,
		"body": body.String(), "labels": []string{"a" + strings.Repeat(" ", 30) + "  amount      1.00 USD"}, "data": map[string]string{"k": strings.Repeat("x", width) + fake}})
	if err != nil {
		panic(err)
	}
	return string(action)
}

// ours are the rows that may begin in the first columns.
var ours = regexp.MustCompile(`^(|Intent \d+ is .*|What would be carried out:|What the policy says: \w+|Around it:|In short, intent \d+:|The display above has .*` +
	`|  [a-z ]+(, \d+ characters)?(, \d+ rows?)?:|Waiting for you:|  ID  TYPE .*|  \d+ +spend .*)$`)

func TestATextThatIsLaidOutForTheTerminalForgesNoRow(t *testing.T) {
	p := newPlace(t, "sqlite")
	s := p.serve(t)
	person := s.personIn(t, p)
	for _, width := range []int{20, 40, 80, 200} {
		t.Run(fmt.Sprintf("%d columns", width), func(t *testing.T) {
			in := s.record(t, forgery(width))
			at := person.sitShell(t, fmt.Sprintf("stty cols %d rows 40; %s inbox list; %s inbox approve %d", width, shellQuoted(program), shellQuoted(program), in.ID))
			at.answer("or press Enter to leave it: ", "\n")
			code, shown := at.end()
			if code != 1 || s.look(t, in.ID).Status != "pending_approval" {
				t.Errorf("exit %d, and it is %s", code, s.look(t, in.ID).Status)
			}
			display := shown
			if at := question.FindStringIndex(shown); at != nil {
				display = shown[:at[0]]
			}
			checkDisplay(t, display, width)
			checkLastScreen(t, emulated(display, width), in)
		})
	}
}

// checkDisplay holds every line to be ours from its first column on, or to stand
// behind the margin and fit.
func checkDisplay(t *testing.T, display string, width int) {
	t.Helper()
	for _, line := range strings.Split(strings.ReplaceAll(display, "\r\n", "\n"), "\n") {
		at, cells := strings.Index(line, "│"), len([]rune(line))
		behind := at == 4 && strings.HasPrefix(line, margin) || at == 12 && regexp.MustCompile(`^(  [a-z ]{10}| {12})│ `).MatchString(line)
		if !behind && !ours.MatchString(clipped(line, width)) {
			t.Errorf("a row is %q", line)
		}
		foreign := behind || strings.Contains(line, "spend")
		if foreign && cells >= width {
			t.Errorf("a row of %d cells on %d columns: %q", cells, width, line)
		}
	}
}

// clipped makes the head of a list that was cut look like one that was not.
func clipped(line string, width int) string {
	if strings.HasPrefix(line, "  ID  TYPE") && len([]rune(line)) < width {
		return "  ID  TYPE "
	}
	return line
}

// checkLastScreen looks for what decides in the rows that did not scroll away.
func checkLastScreen(t *testing.T, rows []string, in intent) {
	t.Helper()
	last := strings.Join(rows[max(0, len(rows)-30):], "\n")
	_, block, found := strings.Cut(last, "\nIn short, intent "+number(in.ID)+":\n")
	if !found || strings.Contains(block, "forged") || !strings.Contains(strings.ReplaceAll(last, "\n", ""), "The display above has ") {
		t.Errorf("the last screen is\n%s", last)
	}
	for _, gap := range []string{"│", " ", "\n"} {
		block = strings.ReplaceAll(block, gap, "") // rows may be broken anywhere
	}
	for _, want := range []string{"spend", "evil@attacker.example", "9900.00USD(990000minorunits)", in.Digest} {
		if !strings.Contains(block, want) {
			t.Errorf("the last screen lacks %q:\n%s", want, last)
		}
	}
}
