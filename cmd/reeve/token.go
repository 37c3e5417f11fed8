package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

type tokenCmd struct {
	Create tokenCreateCmd `cmd:"" help:"Make a credential, and print it once."`
	List   tokenListCmd   `cmd:"" help:"List credentials, without the secrets."`
	Rotate tokenRotateCmd `cmd:"" help:"Make a new one in place of the old, which ends at once."`
	Revoke tokenRevokeCmd `cmd:"" help:"End a credential at once."`
}

func (*tokenCmd) Help() string {
	return `Whoever can open the database can make credentials: keep it where no agent can.

    reeve token create --kind agent --name research
    reeve token create --kind human --person ana
    reeve token create --kind worker --name payments --life 30d
    reeve token rotate agent:research
    reeve token revoke human:ana`
}

type tokenCreateCmd struct {
	database    `embed:""`
	Kind        string   `required:"" enum:"agent,human,worker,channel" help:"Whom it is for: agent, human, worker or channel."`
	Name        string   `placeholder:"NAME" help:"Its name; a human's may be left out and is then the person's handle. A channel's is the service it speaks for."`
	Person      string   `placeholder:"HANDLE" help:"The person it belongs to, for a human's."`
	Scope       []string `placeholder:"SCOPE" help:"What it may do, as intents:write; \"all\" for everything. May be repeated. What that kind needs when left out."`
	Interactive bool     `help:"A person is present behind it; for a human's."`
	Life        life     `default:"90d" help:"How long it lives, as 90d or 12h; ${default} when left out, two years at most."`
	Project     string   `placeholder:"NAME" help:"The project it works in; default when left out."`
	Listen      string   `default:"127.0.0.1:3401" placeholder:"HOST:PORT" help:"Where the server listens, for the resource that is printed; ${default} when left out."`
	JSON        bool     `name:"json" help:"Print one JSON object and nothing else."`
}

// allScopes is the word for every scope there is.
const allScopes = "all"

// created is a new credential, with what a client has to name in its writes.
type created struct {
	operator.Minted
	Resource string `json:"resource"`
}

func (t *tokenCreateCmd) Run(k *kong.Context, c console) error {
	url, err := baseURL(t.Listen)
	if err != nil {
		return err
	}
	if t.Name == "" {
		t.Name = t.Person
	}
	if t.Name == "" {
		return usagef("give the credential a --name")
	}
	return t.with(k, func(ctx context.Context, op *operator.Operator) error {
		scopes, err := t.scopes(op)
		if err != nil {
			return err
		}
		minted, err := op.CreateCredential(ctx, operator.NewCredential{Kind: operator.Kind(t.Kind), Name: t.Name, Project: t.Project,
			Person: t.Person, Scopes: scopes, Interactive: t.Interactive, Life: time.Duration(t.Life)})
		if err != nil {
			return err
		}
		return tellMinted(c, minted, url, t.JSON)
	})
}

// scopes is what was asked for, else what a credential of that kind needs.
func (t *tokenCreateCmd) scopes(op *operator.Operator) ([]operator.Scope, error) {
	var out []operator.Scope
	for _, s := range t.Scope {
		if s == allScopes {
			return operator.Scopes(), nil
		}
		out = append(out, operator.Scope(s))
	}
	if len(out) > 0 {
		return out, nil
	}
	schedule, err := powers.New(op)
	if err != nil {
		return nil, err
	}
	return scopesFor(schedule, operator.Kind(t.Kind)), nil
}

// scopesFor is what a kind of caller needs, by the tables. A channel needs none:
// it relays what a linked person does, and calls nothing itself.
func scopesFor(s *powers.Schedule, kind operator.Kind) []operator.Scope {
	switch kind {
	case operator.KindAgent:
		return s.AgentScopes(powers.ToolsetOperator)
	case operator.KindHuman:
		return s.OwnerScopes()
	}
	var out []operator.Scope
	for _, act := range s.Acts() {
		if slices.Contains(act.Kinds, kind) {
			out = append(out, act.Scopes...)
		}
	}
	for _, tool := range s.Tools() {
		// A worker looks, and reports by the tool as well as by the act.
		reports := tool.Class == powers.Write && tool.Primitive == powers.Intents
		if (tool.ReadOnly() || reports) && slices.Contains(tool.Kinds, kind) {
			out = append(out, tool.Scopes...)
		}
	}
	return out
}

// tellMinted prints a credential, once.
func tellMinted(c console, m operator.Minted, url string, asJSON bool) error {
	out := created{Minted: m, Resource: url + "/mcp"}
	if asJSON {
		return printJSON(c.out, out)
	}
	_, err := fmt.Fprintf(c.out, "The credential of %s, shown now and never again:\n\n  %s\n\n", m.Principal, m.Token)
	for _, row := range [][2]string{{"id", out.ID}, {"instance_id", out.InstanceID}, {"project_id", out.ProjectID},
		{"resource", out.Resource}, {"expires", moment(out.ExpiresAt)}} {
		field(c.out, row[0], row[1])
	}
	return err
}

// with opens the database for one administrative act, which needs no credential:
// whoever can open it is the root of trust.
func (d database) with(k *kong.Context, act func(context.Context, *operator.Operator) error) error {
	return d.withOptions(k, nil, act)
}

// withLook is with for what only looks, and so needs no audit key.
func (d database) withLook(k *kong.Context, act func(context.Context, *operator.Operator) error) error {
	return d.withOptions(k, &operator.Options{Keyless: true}, act)
}

func (d database) withOptions(k *kong.Context, opts *operator.Options, act func(context.Context, *operator.Operator) error) error {
	ctx := context.Background()
	op, err := d.open(ctx, k, opts)
	if err != nil {
		return err
	}
	defer op.Close()
	return act(ctx, op)
}

// withStop is with for what takes a power away: it works also while the audit key
// cannot be had, since it seals nothing.
func (d database) withStop(k *kong.Context, c console, act func(context.Context, *operator.Operator) error) error {
	op, err := d.openToStop(context.Background(), k, c)
	if err != nil {
		return err
	}
	defer op.Close()
	return act(context.Background(), op)
}

// openToStop opens a database without the audit key where that cannot be had, and
// says so.
func (d database) openToStop(ctx context.Context, k *kong.Context, c console) (*operator.Operator, error) {
	op, err := d.open(ctx, k, nil)
	var key *operator.AuditKeyError
	if errors.As(err, &key) {
		fmt.Fprintln(c.err, "reeve:", visibleLine(err.Error()))
		return d.open(ctx, k, &operator.Options{Keyless: true})
	}
	return op, err
}

type tokenListCmd struct {
	database `embed:""`
	JSON     bool `name:"json" help:"Print one JSON object and nothing else."`
}

func (t *tokenListCmd) Run(k *kong.Context, c console) error {
	return t.withLook(k, func(ctx context.Context, op *operator.Operator) error {
		all, err := op.Credentials(ctx, "")
		if err != nil {
			return err
		}
		if t.JSON {
			return printJSON(c.out, map[string]any{"credentials": all})
		}
		return listCredentials(c.out, op.Now(), all)
	})
}

func listCredentials(w io.Writer, now time.Time, all []operator.Credential) error {
	table := tabwriter.NewWriter(w, 2, 0, 2, ' ', 0)
	fmt.Fprintln(table, "PRINCIPAL\tNAME\tPROJECT\tSTATE\tLAST USED\tID\tSCOPES")
	for _, cred := range all {
		used := "never"
		if cred.LastUsedAt != nil {
			used = moment(*cred.LastUsedAt)
		}
		scopes := make([]string, len(cred.Scopes))
		for i, s := range cred.Scopes {
			scopes[i] = string(s)
		}
		fmt.Fprintf(table, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", cred.Principal, cred.Name, cred.Project, stateOf(cred, now), used, cred.ID, strings.Join(scopes, " "))
	}
	return table.Flush()
}

func stateOf(cred operator.Credential, now time.Time) string {
	switch {
	case cred.RevokedAt != nil:
		return "revoked"
	case !now.Before(cred.ExpiresAt):
		return "expired"
	}
	return "ends in " + inWords(cred.ExpiresAt.Sub(now))
}

type tokenRotateCmd struct {
	database   `embed:""`
	Credential string `arg:"" help:"Its id, its name, or its kind and name, as agent:research."`
	Listen     string `default:"127.0.0.1:3401" placeholder:"HOST:PORT" help:"Where the server listens, for the resource that is printed; ${default} when left out."`
	JSON       bool   `name:"json" help:"Print one JSON object and nothing else."`
}

func (t *tokenRotateCmd) Run(k *kong.Context, c console) error {
	url, err := baseURL(t.Listen)
	if err != nil {
		return err
	}
	return t.with(k, func(ctx context.Context, op *operator.Operator) error {
		id, err := credentialID(ctx, op, t.Credential)
		if err != nil {
			return err
		}
		minted, err := op.RotateCredential(ctx, "", id)
		if err != nil {
			return err
		}
		return tellMinted(c, minted, url, t.JSON)
	})
}

type tokenRevokeCmd struct {
	database   `embed:""`
	Credential string `arg:"" help:"Its id, its name, or its kind and name, as agent:research."`
}

func (t *tokenRevokeCmd) Run(k *kong.Context, c console) error {
	return t.withStop(k, c, func(ctx context.Context, op *operator.Operator) error {
		id, err := credentialID(ctx, op, t.Credential)
		if err != nil {
			return err
		}
		if err := op.RevokeCredential(ctx, "", id); err != nil {
			return err
		}
		_, err = fmt.Fprintf(c.out, "%s has ended.\n", visibleLine(t.Credential))
		return err
	})
}

// credentialID finds the live credential that a bare name means; ids and
// kind:name the operator knows by itself.
func credentialID(ctx context.Context, op *operator.Operator, name string) (string, error) {
	all, err := op.Credentials(ctx, "")
	if err != nil {
		return "", err
	}
	var found []operator.Credential
	for _, cred := range all {
		if cred.Name == name && cred.RevokedAt == nil {
			found = append(found, cred)
		}
	}
	switch len(found) {
	case 0:
		return name, nil
	case 1:
		return found[0].ID, nil
	}
	return "", usagef("several credentials are named %q: write %s:%s or %s:%s", name, found[0].Kind, name, found[1].Kind, name)
}
