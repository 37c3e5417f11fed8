package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/alecthomas/kong"
	"github.com/go-json-experiment/json"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
)

type inboxEditCmd struct {
	personal `embed:""`
	ID       int64  `arg:"" help:"The intent's number."`
	File     string `placeholder:"FILE" help:"Take your version from this file, as \"reeve inbox show --json\" gives it under payload; - is standard input. Without it your editor is opened."`
	Digest   string `placeholder:"HEX" help:"The digest of what you were shown. Without it, that of what stands there now."`
}

func (*inboxEditCmd) Help() string {
	return `Your editor ($VISUAL, else $EDITOR) is opened on the action as JSON. What you save is judged by the policy again and takes the place of what the agent wrote; where one person is enough, it is at once approved by you. The type and the currency stay as they are.`
}

func (e *inboxEditCmd) Run(k *kong.Context, c console) error {
	return e.do(k, c, "edit_intent", func(ctx context.Context, op *operator.Operator, person operator.Person) error {
		old, err := op.ShowIntent(ctx, person, e.ID)
		if err != nil {
			return err
		}
		if e.Digest == "" {
			e.Digest = old.Digest
		}
		action, err := e.version(c, old)
		if err != nil {
			return err
		}
		out, err := op.Edit(ctx, person, operator.EditInput{ID: e.ID, Digest: e.Digest, Action: action})
		if err != nil {
			return err
		}
		if e.JSON {
			return printJSON(c.out, out)
		}
		fmt.Fprintf(c.out, "Intent %d took the place of intent %d.\n", out.ID, e.ID)
		showIntent(c.out, op.Now(), out)
		return nil
	})
}

// largestAction bounds an edited file: body and data at their limits, each
// character escaped, and room for the rest.
const largestAction = 1 << 20

// version is the action as the person wants it.
func (e *inboxEditCmd) version(c console, old operator.Intent) (gate.Action, error) {
	switch e.File {
	case "":
		return inEditor(c, old)
	case "-":
		return readAction(c.in, "standard input")
	}
	f, err := os.Open(e.File)
	if err != nil {
		return gate.Action{}, fmt.Errorf("%s cannot be read: %w", e.File, cause(err))
	}
	defer f.Close()
	return readAction(f, e.File)
}

// readAction reads one action strictly: a key that is unknown or repeated is
// refused, since what it was meant to change would silently stay.
func readAction(r io.Reader, name string) (gate.Action, error) {
	var action gate.Action
	text, err := io.ReadAll(io.LimitReader(r, largestAction))
	if err != nil {
		return action, fmt.Errorf("%s cannot be read: %w", name, cause(err))
	}
	if err := json.Unmarshal(text, &action, json.RejectUnknownMembers(true)); err != nil {
		return action, fmt.Errorf("%s is not an action as JSON, so nothing was changed: %w", name, err)
	}
	return action, nil
}

// errNoEditor is a person with nothing to edit in.
var errNoEditor = errors.New("set EDITOR to your editor, or give your version with --file")

// inEditor lets the person change the action in their own editor. A version that
// does not parse is left where it is, so that their work is not lost.
func inEditor(c console, old operator.Intent) (gate.Action, error) {
	editor := os.Getenv("VISUAL")
	if editor == "" {
		editor = os.Getenv("EDITOR")
	}
	if editor == "" {
		return gate.Action{}, errNoEditor
	}
	dir, err := os.MkdirTemp("", "reeve-edit-") // readable by its owner alone
	if err != nil {
		return gate.Action{}, err
	}
	file := filepath.Join(dir, fmt.Sprintf("intent-%d.json", old.ID))
	if err := writeAction(file, old.Payload); err != nil {
		return gate.Action{}, errors.Join(err, os.RemoveAll(dir))
	}
	if err := editFile(c, editor, file); err != nil {
		return gate.Action{}, errors.Join(err, os.RemoveAll(dir))
	}
	f, err := os.Open(file)
	if err != nil {
		return gate.Action{}, err
	}
	defer f.Close()
	action, err := readAction(f, file)
	if err != nil {
		return action, fmt.Errorf("%w\nYour text is still in that file: mend it there, and give it with --file", err)
	}
	return action, os.RemoveAll(dir)
}

func writeAction(file string, action *gate.Action) error {
	f, err := os.OpenFile(file, os.O_CREATE|os.O_EXCL|os.O_WRONLY, 0o600)
	if err != nil {
		return err
	}
	shown := *action
	if len(shown.Data) > 0 { // as it is shown elsewhere: letters, and no escapes of letters
		shown.Data = canonical(shown.Data)
	}
	return errors.Join(printJSON(f, shown), f.Close())
}

// editFile runs the editor by a shell, since people set it with arguments.
func editFile(c console, editor, file string) error {
	cmd := exec.Command("sh", "-c", editor+` "$1"`, "sh", file)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = c.in, c.out, c.err
	if err := cmd.Run(); err != nil {
		return fmt.Errorf("the editor did not end well, so nothing was changed: %w", err)
	}
	return nil
}
