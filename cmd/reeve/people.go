package main

import (
	"context"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/operator"
)

type peopleCmd struct {
	Add    peopleAddCmd    `cmd:"" help:"Put somebody on the list."`
	Remove peopleRemoveCmd `cmd:"" help:"Take somebody off the list; their powers end at once, everywhere."`
	List   peopleListCmd   `cmd:"" help:"List the people."`
	Link   peopleLinkCmd   `cmd:"" help:"Tie somebody's account at a service to them, so that a channel can vouch for them."`
}

func (*peopleCmd) Help() string {
	return `    reeve people add ana --name "Ana Ruiz" --role admin
    reeve token create --kind human --person ana
    reeve people link ana slack U024BE7LH
    reeve people remove ana`
}

type peopleAddCmd struct {
	database `embed:""`
	Handle   string `arg:"" help:"Short and unique, as ana."`
	Name     string `placeholder:"NAME" help:"As they write it; the handle when left out."`
	Role     string `enum:"owner,admin,member" default:"member" help:"Their standing: owner, admin or member."`
}

func (p *peopleAddCmd) Run(k *kong.Context, c console) error {
	if p.Name == "" {
		p.Name = p.Handle
	}
	return p.with(k, func(ctx context.Context, op *operator.Operator) error {
		if err := op.AddPerson(ctx, operator.NewPerson{Handle: p.Handle, Name: p.Name, Role: operator.Role(p.Role)}); err != nil {
			return err
		}
		_, err := fmt.Fprintf(c.out, "%[1]s is on the list as %[2]s. Give them a credential: reeve token create --kind human --person %[1]s\n", p.Handle, p.Role)
		return err
	})
}

type peopleRemoveCmd struct {
	database `embed:""`
	Handle   string `arg:"" help:"Their handle."`
}

func (p *peopleRemoveCmd) Run(k *kong.Context, c console) error {
	return p.withStop(k, c, func(ctx context.Context, op *operator.Operator) error {
		if err := op.RemovePerson(ctx, "", p.Handle); err != nil {
			return err
		}
		_, err := fmt.Fprintf(c.out, "%s is off the list; their credentials and links have ended.\n", p.Handle)
		return err
	})
}

type peopleListCmd struct {
	database `embed:""`
	JSON     bool `name:"json" help:"Print one JSON object and nothing else."`
}

func (p *peopleListCmd) Run(k *kong.Context, c console) error {
	return p.withLook(k, func(ctx context.Context, op *operator.Operator) error {
		all, err := op.People(ctx, "")
		if err != nil {
			return err
		}
		if p.JSON {
			return printJSON(c.out, map[string]any{"people": all})
		}
		return listPeople(c.out, all)
	})
}

func listPeople(w io.Writer, all []operator.PersonInfo) error {
	table := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	fmt.Fprintln(table, "HANDLE\tROLE\tSINCE\tREMOVED\tNAME")
	for _, p := range all {
		removed := "-"
		if p.RemovedAt != nil {
			removed = moment(*p.RemovedAt)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\n", p.Handle, p.Role, moment(p.CreatedAt), removed, visibleLine(p.Name))
	}
	return table.Flush()
}

type peopleLinkCmd struct {
	database `embed:""`
	Handle   string `arg:"" help:"Their handle."`
	Service  string `arg:"" help:"The service, as slack: the name of the channel's credential."`
	ID       string `arg:"" help:"Their id there."`
}

func (p *peopleLinkCmd) Run(k *kong.Context, c console) error {
	return p.with(k, func(ctx context.Context, op *operator.Operator) error {
		if err := op.LinkPerson(ctx, "", p.Handle, p.Service, p.ID); err != nil {
			return err
		}
		_, err := fmt.Fprintf(c.out, "The channel %s can vouch for %s now.\n", p.Service, p.Handle)
		return err
	})
}
