package main

import (
	"fmt"

	"github.com/reeve-go/reeve/gate"
)

type policyCmd struct {
	Show  policyShowCmd  `cmd:"" help:"Print the embedded default policy."`
	Check policyCheckCmd `cmd:"" help:"Say whether a policy file is valid, and everything that is wrong with it."`
}

type policyShowCmd struct{}

func (*policyShowCmd) Help() string {
	return `It needs no database. A file of your own stands alone, or says "extends: default" and adds to these rules:

    reeve policy show >mine.yaml
    reeve policy check mine.yaml
    reeve serve --policy mine.yaml`
}

func (*policyShowCmd) Run(c console) error {
	_, err := c.out.Write(gate.DefaultYAML())
	return err
}

type policyCheckCmd struct {
	File string `arg:"" help:"The policy file, in YAML or JSON."`
}

func (p *policyCheckCmd) Run(c console) error {
	_, policy, err := readPolicy(p.File)
	if err != nil {
		return err
	}
	_, err = fmt.Fprintf(c.out, "%s is valid: %d rules, version %s.\n", visibleLine(p.File), len(policy.Rules()), policy.Version())
	return err
}
