package main

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"time"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/operator"
)

type policySimulateCmd struct {
	database `embed:""`
	Since    string `placeholder:"DAY" help:"Only what was recorded from this day on, as 2026-03-01 (it begins at midnight UTC)."`
	Examples int    `default:"3" placeholder:"N" help:"How many intents of each kind of change are named; ${default} when left out."`
	JSON     bool   `name:"json" help:"Print one JSON object and nothing else."`
	File     string `arg:"" help:"The policy file."`
}

func (*policySimulateCmd) Help() string {
	return `Every recorded intent is judged again as it was then: at its own moment, by who asked, with the budgets counted anew by what this policy allows and people really approved. Nothing is changed.

    reeve policy simulate policy.yaml
    reeve policy simulate --since 2026-02-01 policy.yaml
    reeve policy simulate --json policy.yaml | jq -r '.loosens[].id' >accept.txt`
}

func (s *policySimulateCmd) Run(k *kong.Context, c console) error {
	text, _, err := readPolicy(s.File)
	if err != nil {
		return err
	}
	in := operator.SimulateInput{File: s.File, Text: text, Examples: s.Examples}
	if s.Since != "" {
		if in.Since, err = time.Parse(time.DateOnly, s.Since); err != nil {
			return usagef("--since is a day, as 2026-03-01")
		}
	}
	ctx := context.Background()
	op, err := s.open(ctx, k, &operator.Options{Keyless: true})
	if err != nil {
		return err
	}
	defer op.Close()
	out, err := op.Simulate(ctx, "", in)
	if err != nil || s.JSON {
		return answer(c, out, err)
	}
	w := bufio.NewWriter(c.out)
	simulation(w, out)
	loosenings(w, s.File, out.Current, out.Loosens)
	return w.Flush()
}

// simulation tells what would change, the largest group first.
func simulation(w io.Writer, s operator.Simulation) {
	fmt.Fprintf(w, "%d intents judged by %s; the verdict on %d would be another.\n", s.Judged, s.Version, s.Changed)
	for _, g := range s.Groups {
		fmt.Fprintf(w, "\n%d  %s -> %s, by the rule %s", g.Count, decisionWords(g.From, g.FromPeople), decisionWords(g.To, g.ToPeople), visibleLine(g.Rule))
		for _, m := range g.Money {
			fmt.Fprintf(w, ", %s", sum(m.Cents, m.Currency))
		}
		fmt.Fprintln(w)
		for _, i := range g.Examples {
			fmt.Fprintf(w, "    %s\n", visibleLine(exampleLine(i)))
		}
	}
	if len(s.Undone) > 0 {
		fmt.Fprintf(w, "\nDenied then, and not by this policy (%d):\n", len(s.Undone))
		ids := make([]string, len(s.Undone))
		for i, id := range s.Undone {
			ids[i] = fmt.Sprint(id)
		}
		inRows(w, ids)
	}
}

func decisionWords(decision string, people int64) string {
	if people > 1 {
		return fmt.Sprintf("%s of %d people", decision, people)
	}
	return decision
}

func exampleLine(i operator.SimulationIntent) string {
	line := fmt.Sprintf("%d  %s  %s", i.ID, moment(i.RecordedAt), i.Type)
	if i.Cents != nil {
		line += "  " + sum(*i.Cents, i.Currency)
	}
	if i.Recipient != "" {
		line += "  to " + i.Recipient
	}
	return line + "  " + i.Title + "  (" + i.RecordedBy + ")"
}

// inRows writes words in rows that fit a terminal.
func inRows(w io.Writer, words []string) {
	const widest = 100
	at := 0
	for _, word := range words {
		switch {
		case at == 0:
			fmt.Fprint(w, "    ")
			at = 4
		case at+2+len(word) > widest:
			fmt.Fprint(w, ",\n    ")
			at = 4
		default:
			fmt.Fprint(w, ", ")
			at += 2
		}
		fmt.Fprint(w, word)
		at += len(word)
	}
	if at > 0 {
		fmt.Fprintln(w)
	}
}
