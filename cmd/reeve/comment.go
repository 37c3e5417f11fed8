package main

import (
	"context"
	"fmt"
	"io"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/operator"
)

type commentCmd struct {
	personal `embed:""`
	Text     string `arg:"" optional:"" help:"Your words. Left out, they are read from standard input."`
}

func (*commentCmd) Help() string {
	return `Your words are stamped with who you are and that they came from a terminal, so that they can be told from anything an agent says you said.`
}

// longestComment bounds what is read; the operator says what is too long.
const longestComment = 64 << 10

func (m *commentCmd) Run(k *kong.Context, c console) error {
	if m.Text == "" {
		text, err := io.ReadAll(io.LimitReader(c.in, longestComment))
		if err != nil {
			return fmt.Errorf("standard input cannot be read: %w", cause(err))
		}
		m.Text = string(text)
	}
	return m.do(k, c, "comment", func(ctx context.Context, op *operator.Operator, person operator.Person) error {
		out, err := op.Comment(ctx, person, operator.CommentInput{Text: m.Text})
		if err != nil {
			return err
		}
		if m.JSON {
			return printJSON(c.out, out)
		}
		_, err = fmt.Fprintf(c.out, "Recorded as comment %d of %s.\n", out.CommentID, visibleLine(out.Author))
		return err
	})
}
