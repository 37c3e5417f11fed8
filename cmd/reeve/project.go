package main

import (
	"context"
	"fmt"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/operator"
)

type projectCmd struct {
	Add  projectAddCmd  `cmd:"" help:"Make a project."`
	List projectListCmd `cmd:"" help:"List the projects."`
}

type projectListCmd struct {
	database `embed:""`
	JSON     bool `name:"json" help:"Print one JSON array and nothing else."`
}

func (p *projectListCmd) Run(k *kong.Context, c console) error {
	return p.withLook(k, func(ctx context.Context, op *operator.Operator) error {
		all, err := op.Projects(ctx, "")
		if err != nil {
			return err
		}
		if p.JSON {
			return printJSON(c.out, all)
		}
		for _, project := range all {
			field(c.out, project.Name, project.ProjectID)
		}
		return nil
	})
}

type projectAddCmd struct {
	database `embed:""`
	Name     string `arg:"" help:"Its name: a lower-case letter, then letters, digits and dashes."`
	JSON     bool   `name:"json" help:"Print one JSON object and nothing else."`
}

func (p *projectAddCmd) Run(k *kong.Context, c console) error {
	return p.with(k, func(ctx context.Context, op *operator.Operator) error {
		id, err := op.AddProject(ctx, "", p.Name)
		if err != nil {
			return err
		}
		if p.JSON {
			return printJSON(c.out, map[string]string{"project": p.Name, "project_id": id})
		}
		_, err = fmt.Fprintf(c.out, "Project %s (%s). Give an agent a credential in it: reeve token create --kind agent --name NAME --project %s\n", p.Name, id, p.Name)
		return err
	})
}
