package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// personal is what every act of a person in the terminal takes: a database, and
// a file with the person's own credential. Opening the database is not enough to
// decide anything, so that an agent with a shell does not inherit a person's acts.
type personal struct {
	database  `embed:""`
	TokenFile string `placeholder:"FILE" help:"File that holds your credential and nothing else. Without it you are asked on the terminal. A credential is never taken from an argument or from the environment."`
	JSON      bool   `name:"json" help:"Answer in JSON; a refusal too."`
}

// deed is something that a person does. The person is an argument and is kept
// nowhere.
type deed func(ctx context.Context, op *operator.Operator, person operator.Person) error

// do proves the person and lets them act. A refusal is written into the record,
// as one by any other way in is.
func (p *personal) do(k *kong.Context, c console, act string, d deed) error {
	op, err := p.open(context.Background(), k, nil)
	if err != nil {
		return err
	}
	return p.on(op, c, act, d)
}

// look is do for what only looks: it seals nothing, and so needs no key.
func (p *personal) look(k *kong.Context, c console, act string, d deed) error {
	op, err := p.open(context.Background(), k, &operator.Options{Keyless: true})
	if err != nil {
		return err
	}
	return p.on(op, c, act, d)
}

// stop is do for what stops something. A key that is lost, or that others can read,
// must not keep anybody from that: the act is recorded, and whoever has the key
// seals it.
func (p *personal) stop(k *kong.Context, c console, act string, d deed) error {
	op, err := p.openToStop(context.Background(), k, c)
	if err != nil {
		return err
	}
	return p.on(op, c, act, d)
}

// stood takes an act that stops something for done where all that lacks is the seal of
// its row: it stands already, in every process. It says what is missing.
func stood[T any](c console, out T, err error) (T, error) {
	if errors.Is(err, operator.ErrAuditUnsealed) {
		fmt.Fprintln(c.err, "reeve: this stands already, in every process. Its row in the record is not sealed yet: a process that has the audit key (\"reeve serve\") does that.")
		return out, nil
	}
	return out, err
}

// on acts on an open database, and closes it.
func (p *personal) on(op *operator.Operator, c console, act string, d deed) error {
	ctx := context.Background()
	defer op.Close()
	token, err := p.token(c)
	if err != nil {
		return err
	}
	principal, err := op.Authenticate(ctx, token, operator.ViaTerminal)
	if err == nil {
		err = asPerson(ctx, op, principal, d)
	}
	return p.recorded(ctx, c, op, principal, act, err)
}

func asPerson(ctx context.Context, op *operator.Operator, principal operator.Principal, d deed) error {
	person, err := op.PersonOf(principal)
	if err != nil {
		return err
	}
	return d(ctx, op, person)
}

// recorded passes err on, once it is in the record if it is a refusal.
func (p *personal) recorded(ctx context.Context, c console, op *operator.Operator, who operator.Principal, act string, err error) error {
	var refusal *operator.Refusal
	if !errors.As(err, &refusal) {
		return err
	}
	schedule, broken := powers.New(op)
	if broken != nil {
		return errors.Join(err, broken)
	}
	answer := schedule.Refuse(ctx, powers.Caller{Principal: who, Face: powers.Face(operator.ViaTerminal)}, act, refusal)
	if p.JSON {
		fmt.Fprintf(c.out, "%s\n", answer.JSON)
		return answered{err}
	}
	if present, ok := refusal.Details["present"].(operator.Intent); ok {
		showIntent(c.out, op.Now(), present)
	}
	return err
}

// longestToken bounds what is read of a file that was named by mistake.
const longestToken = 4096

// token reads the credential from its file, or asks for it where nobody sees it.
func (p *personal) token(c console) (string, error) {
	if p.TokenFile == "" {
		return askSecret("Your credential (it is not shown): ")
	}
	return readToken(c, p.TokenFile)
}

// readToken reads a credential from its file.
func readToken(c console, file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("the credential's file %s cannot be read: %w", file, cause(err))
	}
	defer f.Close()
	if info, err := f.Stat(); err == nil && info.Mode().IsRegular() && info.Mode().Perm()&0o077 != 0 {
		fmt.Fprintf(c.err, "reeve: warning: others can read %s; make it yours alone with: chmod 600 %s\n", file, file)
	}
	text := make([]byte, longestToken)
	n, err := readUpTo(f, text)
	if err != nil {
		return "", fmt.Errorf("the credential's file %s cannot be read: %w", file, cause(err))
	}
	return strings.TrimSpace(string(text[:n])), nil
}
