package main

import (
	"context"
	"errors"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

type initCmd struct {
	database `embed:""`
	Zone     string   `placeholder:"ZONE" help:"Time zone of the account, as Europe/Madrid: where its days begin. UTC when left out."`
	Currency string   `placeholder:"CODE" help:"Currency of an amount that names none, as an ISO 4217 code. USD when left out."`
	Inside   []string `placeholder:"ADDRESS" help:"An address or a domain of your own; everybody else is outside. May be repeated."`
	Listen   string   `default:"127.0.0.1:3401" placeholder:"HOST:PORT" help:"Where the server will listen, for the addresses that are printed; ${default} when left out."`
	JSON     bool     `name:"json" help:"Print one JSON object and nothing else."`
}

func (*initCmd) Help() string {
	return `Makes what the first start of "reeve serve" makes: the database, one person who owns the account, one agent, and a credential for each, printed once.`
}

// errInitialised is a second init. It prints no secret: nobody has them any more.
var errInitialised = errors.New("this database is initialised already, and its credentials were shown then: make more with \"reeve token create\"")

// initialised is what init prints for a program.
type initialised struct {
	AgentToken  string `json:"agent_token"`
	PersonToken string `json:"person_token"`
	Account     string `json:"account"`
	Project     string `json:"project"`
	ProjectID   string `json:"project_id"`
	InstanceID  string `json:"instance_id"`
	Resource    string `json:"resource"`
	URL         string `json:"url"`
}

func (i *initCmd) Run(k *kong.Context, c console) error {
	url, err := baseURL(i.Listen)
	if err != nil {
		return err
	}
	where, err := i.where(k)
	if err != nil {
		return err
	}
	ctx := context.Background()
	op, err := i.make(ctx, k, nil)
	if err != nil {
		return err
	}
	defer op.Close()
	schedule, err := powers.New(op)
	if err != nil {
		return err
	}
	made, first, err := install(ctx, op, schedule, operator.Initial{Zone: i.Zone, Currency: i.Currency, Inside: i.Inside})
	switch {
	case err != nil:
		return err
	case !first:
		return errInitialised
	case i.JSON:
		return printJSON(c.out, initialised{made.Agent.Token, made.Person.Token, made.Account, made.Project, made.ProjectID,
			made.Agent.InstanceID, url + "/mcp", url})
	}
	return welcome(c.out, made, newcomer{url: url, inbox: i.inboxCommand(where)})
}
