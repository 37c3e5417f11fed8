package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
)

type policyLoadCmd struct {
	personal   `embed:""`
	Accept     []string `sep:"," placeholder:"ID,…" help:"What the policy loosens and you accept, by the ids that it lists. May be repeated."`
	AcceptFile string   `placeholder:"FILE" help:"A file with such ids, one a line, for long lists."`
	Base       string   `placeholder:"VERSION" help:"The policy that it was compared with; nothing is loaded where another one holds by now."`
	File       string   `arg:"" help:"The policy file, in YAML or JSON."`
}

func (*policyLoadCmd) Help() string {
	return `A policy that only tightens is loaded at once. One that loosens is refused with a list of what it loosens, each with an id: rules, caps, and every intent on record that was denied and would not be. An owner accepts all of them, with their own credential:

    reeve policy load policy.yaml
    reeve policy load policy.yaml --accept small-subscriptions,cap-usd-month,intent-17 --token-file person.token
    reeve policy load policy.yaml --accept-file accept.txt

It holds from the next judgement on, in every process.`
}

func (l *policyLoadCmd) Run(k *kong.Context, c console) error {
	text, policy, err := readPolicy(l.File)
	if err != nil {
		return err
	}
	accept, err := l.accepted()
	if err != nil {
		return err
	}
	for _, w := range warningsOf(policy) {
		fmt.Fprintf(c.err, "reeve: warning: %s\n", visibleLine(w))
	}
	if len(accept) == 0 && l.Base == "" {
		return l.with(k, func(ctx context.Context, op *operator.Operator) error {
			out, err := op.LoadPolicy(ctx, "", l.File, text)
			var loosens *operator.LoosensError
			if l.JSON && errors.As(err, &loosens) {
				return errors.Join(printJSON(c.out, loosens), answered{err})
			}
			return l.said(ctx, c, op, out, err)
		})
	}
	return l.do(k, c, "set_policy", func(ctx context.Context, op *operator.Operator, person operator.Person) error {
		out, err := op.ChangePolicy(ctx, person, operator.PolicyInput{Policy: string(text), Accept: accept, Base: l.Base, File: l.File})
		return l.said(ctx, c, op, out, err)
	})
}

// accepted joins the ids of the command line and of the file.
func (l *policyLoadCmd) accepted() ([]string, error) {
	var out []string
	add := func(word string) {
		if word = strings.TrimSpace(word); word != "" {
			out = append(out, word)
		}
	}
	for _, id := range l.Accept {
		add(id)
	}
	if l.AcceptFile == "" {
		return out, nil
	}
	f, err := os.Open(l.AcceptFile)
	if err != nil {
		return nil, fmt.Errorf("the file %s cannot be read: %w", l.AcceptFile, cause(err))
	}
	defer f.Close()
	for lines := bufio.NewScanner(f); ; {
		if !lines.Scan() {
			return out, lines.Err()
		}
		add(lines.Text())
	}
}

// said tells what came of a load. What it would loosen is told whole.
func (l *policyLoadCmd) said(ctx context.Context, c console, op *operator.Operator, out operator.PolicyInfo, err error) error {
	var loosens *operator.LoosensError
	switch {
	case errors.As(err, &loosens) && !l.JSON:
		w := bufio.NewWriter(c.err)
		loosenings(w, l.File, loosens.Base, loosens.Loosens)
		return errors.Join(err, w.Flush())
	case err != nil:
		return err
	case l.JSON:
		return printJSON(c.out, out)
	case !out.Changed:
		_, err = fmt.Fprintf(c.out, "%s is the policy already: version %s.\n", visibleLine(l.File), out.Version)
		return err
	}
	fmt.Fprintf(c.out, "%s is the policy now: version %s, for every process.\n", visibleLine(l.File), out.Version)
	return manyNeeded(ctx, c.out, op)
}

// manyNeeded warns of rules that ask for more people than there are: the first policy
// of an account may, since people come after it.
func manyNeeded(ctx context.Context, w io.Writer, op *operator.Operator) error {
	policy, err := op.Policy(ctx, "")
	if err != nil {
		return err
	}
	people, err := peopleByRole(ctx, op)
	for _, f := range operator.UnreachableQuorums(policy, people) {
		fmt.Fprintf(w, "WARNING: rule %s: %s.\n", f.Rule, visibleLine(f.Message))
	}
	return initialisedOrNot(err)
}

// shortList is how many ids stand on a command line that is to be copied.
const shortList = 20

// loosenings lists what a policy loosens, and says how it is accepted.
func loosenings(w io.Writer, file, base string, all []operator.Loosening) {
	if len(all) == 0 {
		return
	}
	fmt.Fprintf(w, "\nIt loosens the policy that holds (%s):\n", base)
	var ids, denials []string
	for _, l := range all {
		ids = append(ids, l.ID)
		if l.Intent != 0 {
			denials = append(denials, l.ID)
			continue
		}
		fmt.Fprintf(w, "  %s  %s\n", l.ID, visibleLine(l.What))
	}
	if len(denials) > 0 {
		fmt.Fprintf(w, "  Denied on record, and not by this policy (%d):\n", len(denials))
		inRows(w, denials)
	}
	file = visibleLine(file)
	if len(ids) <= shortList {
		fmt.Fprintf(w, "\nAn owner accepts all of it with:\n  reeve policy load %s --base %s --accept %s\n", quoted(file), base, strings.Join(ids, ","))
		return
	}
	fmt.Fprintf(w, "\nAn owner accepts all of it with:\n  reeve policy simulate --json %[1]s | jq -r '.loosens[].id' >accept.txt\n"+
		"  reeve policy load %[1]s --base %[2]s --accept-file accept.txt\n", quoted(file), base)
}

// quoted is a file's name as a shell takes it.
func quoted(name string) string {
	if strings.IndexFunc(name, func(r rune) bool {
		return !(r >= 'a' && r <= 'z' || r >= 'A' && r <= 'Z' || r >= '0' && r <= '9' || strings.ContainsRune("./_-", r))
	}) < 0 {
		return name
	}
	return "'" + strings.ReplaceAll(name, "'", `'\''`) + "'"
}

// held is what a server says of a policy file that it did not load.
func held(file string, err error) string {
	var loosens *operator.LoosensError
	if !errors.As(err, &loosens) {
		return gate.Redact(err.Error())
	}
	var w strings.Builder
	loosenings(&w, file, loosens.Base, loosens.Loosens)
	return w.String()
}
