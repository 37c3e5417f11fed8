package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
)

type policyCmd struct {
	Show     policyShowCmd     `cmd:"" help:"Print the policy that holds; without a database the default one."`
	Check    policyCheckCmd    `cmd:"" help:"Say whether a policy file is valid, and what in it is surely not meant."`
	Explain  policyExplainCmd  `cmd:"" help:"Say what would become of an action, and why."`
	Simulate policySimulateCmd `cmd:"" help:"Judge everything that was recorded by a policy file, and tell what would be otherwise."`
	Load     policyLoadCmd     `cmd:"" help:"Make a policy file the policy of the account."`
}

func (*policyCmd) Help() string {
	return `From the rules that hold to your own, without a restart:

    reeve policy show >policy.yaml
    reeve policy check policy.yaml
    reeve policy explain --policy policy.yaml action.json
    reeve policy simulate policy.yaml
    reeve policy load policy.yaml

What only tightens is loaded by whoever administers the database. What loosens is loaded by an owner, who accepts each loosening by its id.`
}

type policyShowCmd struct {
	database `embed:""`
	Default  bool `help:"The embedded default policy, whatever the account has."`
	Whole    bool `help:"Every rule, also those of the policy that the file extends."`
	JSON     bool `name:"json" help:"Print one JSON object: the policy, who loaded it and what they accepted."`
}

func (*policyShowCmd) Help() string {
	return `It needs no database: where there is none, or no policy was loaded, it prints the embedded default. A file of your own stands alone, or says "extends: default" and adds to these rules.`
}

func (s *policyShowCmd) Run(k *kong.Context, c console) error {
	p := gate.DefaultPolicy()
	info := operator.PolicyInfo{Version: p.Version(), Digest: p.Digest(), Accepted: []operator.Loosening{}, Text: string(gate.DefaultYAML())}
	if !s.Default {
		if err := s.ifThere(k, func(ctx context.Context, op *operator.Operator) error {
			var err error
			if p, err = op.Policy(ctx, ""); err == nil {
				info, err = op.StoredPolicy(ctx, "")
			}
			return initialisedOrNot(err)
		}); err != nil {
			return err
		}
	}
	if s.Whole {
		info.Text = string(p.YAML())
	}
	if s.JSON {
		return printJSON(c.out, info)
	}
	_, err := fmt.Fprint(c.out, info.Text)
	return err
}

// initialisedOrNot passes over a database without an account: it was never begun.
func initialisedOrNot(err error) error {
	if errors.Is(err, operator.ErrNotFound) {
		return nil
	}
	return err
}

// ifThere acts on the database that is named, and does nothing where the folder that
// nobody named holds none. It looks, and so needs no audit key.
func (d database) ifThere(k *kong.Context, act func(context.Context, *operator.Operator) error) error {
	where, err := d.where(k)
	if err != nil {
		return err
	}
	if where != d.DatabaseURL && !onCommandLine(k, "dir") {
		if _, err := os.Stat(filepath.Join(where, databaseFile)); errors.Is(err, fs.ErrNotExist) {
			return nil
		}
	}
	ctx := context.Background()
	op, err := d.open(ctx, k, &operator.Options{Keyless: true})
	if err != nil {
		return err
	}
	defer op.Close()
	return act(ctx, op)
}

type policyCheckCmd struct {
	database `embed:""`
	Strict   bool   `help:"Exit with 1 where there are warnings."`
	File     string `arg:"" help:"The policy file, in YAML or JSON."`
}

func (*policyCheckCmd) Help() string {
	return `Errors name the file, the line, the column and the rule. So do warnings: of what is valid and surely not meant, as a rule that can never match. It needs no database; where there is one, it is asked whether there are as many people as the rules ask for.`
}

// errWarned ends a strict check, whose words are said.
var errWarned = answered{errors.New("there are warnings")}

func (p *policyCheckCmd) Run(k *kong.Context, c console) error {
	_, policy, err := readPolicy(p.File)
	if err != nil {
		return err
	}
	fmt.Fprintf(c.out, "%s is valid: %d rules, version %s.\n", visibleLine(p.File), len(policy.Rules()), policy.Version())
	warnings := warningsOf(policy)
	err = p.ifThere(k, func(ctx context.Context, op *operator.Operator) error {
		people, err := peopleByRole(ctx, op)
		if err != nil {
			return initialisedOrNot(err)
		}
		for _, w := range operator.UnreachableQuorums(policy, people) {
			warnings = append(warnings, w.Error())
		}
		return nil
	})
	switch {
	case err != nil && (onCommandLine(k, "dir") || onCommandLine(k, "database-url")):
		return err
	case err != nil: // the file is what was asked about
		fmt.Fprintf(c.err, "reeve: nobody knows whether there are as many people as the rules ask for: %s\n", visibleLine(err.Error()))
	}
	for _, w := range warnings {
		fmt.Fprintf(c.out, "warning: %s\n", visibleLine(w))
	}
	if p.Strict && len(warnings) > 0 {
		return errWarned
	}
	return nil
}

func warningsOf(p *gate.Policy) []string {
	var out []string
	for _, w := range p.Warnings() {
		out = append(out, w.String())
	}
	return out
}

// peopleByRole counts who is on the list.
func peopleByRole(ctx context.Context, op *operator.Operator) (map[operator.Role]int, error) {
	all, err := op.People(ctx, "")
	out := map[operator.Role]int{}
	for _, p := range all {
		if p.RemovedAt == nil {
			out[p.Role]++
		}
	}
	return out, err
}
