package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/operator"
)

type auditCmd struct {
	Export     auditExportCmd     `cmd:"" help:"Write an account's sealed record, for anybody to verify."`
	Verify     auditVerifyCmd     `cmd:"" help:"Say whether an exported record is whole. It needs no database."`
	Checkpoint auditCheckpointCmd `cmd:"" help:"Print the newest signed checkpoint of a record."`
	Rotate     auditRotateCmd     `cmd:"" help:"Hand the record over to a new key."`
}

// logOf names one account's log.
type logOf struct {
	Account string `default:"default" placeholder:"NAME" help:"Whose record, ${default} when left out; - is what belongs to no account."`
}

type auditExportCmd struct {
	database `embed:""`
	logOf    `embed:""`
	Out      string `placeholder:"FILE" help:"Where to write it. Standard output when left out."`
}

func (*auditExportCmd) Help() string {
	return `One JSON object a line: a header with the public keys, every sealed row in its order, and the newest signed checkpoint. Every byte is covered by the checkpoint's signature. It holds what the record holds: who did what, and no payload and no credential. What is not sealed yet is sealed first where this command has the key (--audit-key), and is left out where it has not: "reeve serve" seals every second.

    reeve audit export > audit.jsonl
    reeve audit verify audit.jsonl`
}

func (e *auditExportCmd) Run(k *kong.Context, c console) error {
	return e.with(k, func(ctx context.Context, op *operator.Operator) error {
		if e.Out == "" {
			return op.ExportAudit(ctx, e.Account, c.out)
		}
		return writeWhole(e.Out, func(w io.Writer) error { return op.ExportAudit(ctx, e.Account, w) })
	})
}

// writeWhole puts a file in its place once all of it is written, readable by its
// owner alone.
func writeWhole(file string, write func(io.Writer) error) error {
	f, err := os.CreateTemp(filepath.Dir(file), filepath.Base(file)+".*")
	if err != nil {
		return fmt.Errorf("%s cannot be written: %w", file, cause(err))
	}
	defer os.Remove(f.Name()) // gone already where all went well
	err = write(f)
	if err == nil {
		err = f.Sync()
	}
	if err = errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), file); err != nil {
		return fmt.Errorf("%s cannot be written: %w", file, cause(err))
	}
	return nil
}

type auditVerifyCmd struct {
	File       string   `arg:"" help:"What \"reeve audit export\" wrote; - is standard input."`
	Key        []string `sep:"none" placeholder:"KEY|FILE" help:"A public key that you trust, or a file that holds it: reeve+…. May be repeated."`
	Checkpoint []string `sep:"none" placeholder:"FILE" help:"An earlier checkpoint of the same record. May be repeated."`
	Account    string   `placeholder:"NAME" help:"Whose record it has to be. Any when left out."`
	JSON       bool     `name:"json" help:"Print one JSON object and nothing else."`
}

func (*auditVerifyCmd) Help() string {
	return `It finds every row that was altered, removed, added or moved since it was sealed, and shows that whatever was carried out follows a person's approval of exactly that, or the policy's leave. It exits with 1 on any difference, and names the line.

Without --key it shows only that the file is whole in itself: anybody can make one. The key is printed by "reeve serve" at its start and by "reeve audit checkpoint". Without --checkpoint nobody can tell that rows are missing at the end: keep a checkpoint elsewhere now and then.

    reeve audit checkpoint > 2026-03.checkpoint
    reeve audit verify audit.jsonl --key reeve+1a2b3c4d+… --checkpoint 2026-03.checkpoint`
}

func (v *auditVerifyCmd) Run(c console) error {
	opts, err := v.options()
	if err != nil {
		return err
	}
	in := c.in
	if v.File != "-" {
		if in, err = os.Open(v.File); err != nil {
			return fmt.Errorf("the file %s cannot be read: %w", v.File, cause(err))
		}
		defer in.Close()
	}
	report, err := operator.VerifyAudit(in, opts)
	var differs *operator.AuditProblem
	if err != nil && !errors.As(err, &differs) {
		return fmt.Errorf("the file %s cannot be read: %w", v.File, cause(err))
	}
	if err != nil {
		return err
	}
	if v.JSON {
		return printJSON(c.out, report)
	}
	fmt.Fprintf(c.out, "It is whole: %d rows of %s, and for each of %d executions what allowed it.\nSealed by %s.\n",
		report.Size, visibleLine(report.Origin), report.Executions, report.Key)
	if !report.Trusted {
		fmt.Fprintln(c.out, "No key that you trust was named (--key), so this shows only that the file is whole in itself.")
	}
	return nil
}

func (v *auditVerifyCmd) options() (*operator.VerifyAuditOptions, error) {
	opts := &operator.VerifyAuditOptions{}
	if v.Account != "" {
		opts.Origin = operator.AuditOrigin(v.Account)
	}
	for _, given := range v.Key {
		text := given
		if !strings.HasPrefix(given, "reeve+") {
			var err error
			if text, err = smallFile(given); err != nil {
				return nil, err
			}
		}
		key, err := operator.ParseAuditPublicKey(strings.TrimSpace(text))
		if err != nil {
			return nil, usagef("--key is the public half of an audit key, reeve+…, or a file that holds one")
		}
		opts.Keys = append(opts.Keys, key)
	}
	for _, file := range v.Checkpoint {
		text, err := smallFile(file)
		if err != nil {
			return nil, err
		}
		opts.Checkpoints = append(opts.Checkpoints, text)
	}
	return opts, nil
}

// smallFile reads a file that was named on the command line, and that is small
// unless another one was named by mistake.
func smallFile(file string) (string, error) {
	f, err := os.Open(file)
	if err != nil {
		return "", fmt.Errorf("the file %s cannot be read: %w", file, cause(err))
	}
	defer f.Close()
	text := make([]byte, longestToken)
	n, err := readUpTo(f, text)
	if err != nil {
		return "", fmt.Errorf("the file %s cannot be read: %w", file, cause(err))
	}
	return string(text[:n]), nil
}

type auditCheckpointCmd struct {
	database `embed:""`
	logOf    `embed:""`
	Key      bool `help:"Print the public key that seals the record instead."`
}

func (*auditCheckpointCmd) Help() string {
	return `A checkpoint says how many rows a record has and what their hash is, signed. Kept where the database's holder cannot reach, it shows later whether the record was cut short or rewritten.`
}

func (p *auditCheckpointCmd) Run(k *kong.Context, c console) error {
	return p.with(k, func(ctx context.Context, op *operator.Operator) error {
		if p.Key {
			key, err := op.SealedBy(ctx)
			if err != nil {
				return err
			}
			_, err = fmt.Fprintln(c.out, key)
			return err
		}
		text, err := op.AuditCheckpoint(ctx, p.Account)
		if err != nil {
			return err
		}
		_, err = io.WriteString(c.out, text)
		return err
	})
}

type auditRotateCmd struct {
	database `embed:""`
	To       string `placeholder:"FILE" help:"Where the new key is made, or is already. It takes the old one's place when left out."`
	Lost     bool   `help:"The old key is lost for good: make a new one in its place."`
}

func (*auditRotateCmd) Help() string {
	return `Every account's record gets a row that announces the new key, sealed by both keys, so that who trusts either can verify the whole. Processes that run take the new key up where the old one was; with --to, start them again with --audit-key. Then destroy every copy of the old key.

With --lost nobody can sign for the old key: who trusts it has to be told the new one, and earlier checkpoints still bind the record.`
}

func (r *auditRotateCmd) Run(k *kong.Context, c console) error {
	ctx := context.Background()
	r.AuditKey = r.keyFile(k)
	var public string
	if r.Lost {
		if r.To != "" {
			return usagef("--lost makes the new key where the old one was (--audit-key), and takes no --to")
		}
		where, err := r.where(k)
		if err != nil {
			return err
		}
		if public, err = operator.ReplaceLostAuditKey(ctx, where, &operator.Options{AuditKey: r.AuditKey}); err != nil {
			return err
		}
	} else {
		op, err := r.open(ctx, k, nil)
		if err != nil {
			return err
		}
		defer op.Close()
		if public, err = op.RotateAuditKey(ctx, r.To); err != nil {
			return err
		}
	}
	_, err := fmt.Fprintf(c.out, "The record is sealed by %s from now on.\n", public)
	return err
}
