package main

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
)

// judgement is what approve, reject, ignore and revoke share: which intent, and
// what the person saw of it.
type judgement struct {
	personal `embed:""`
	ID       int64  `arg:"" help:"The intent's number."`
	Digest   string `placeholder:"HEX" help:"The digest of what you were shown, as \"reeve inbox show\" prints it. Without it you are shown it now, on a terminal, and asked."`
	Note     string `placeholder:"TEXT" help:"Why, for the record."`
	stops    bool
}

// act is one of the operator's acts on an intent.
type act func(*operator.Operator, context.Context, operator.Person, operator.ActInput) (operator.Intent, error)

// run shows, asks and acts; purpose ends the sentence "Type this to …".
func (j *judgement) run(k *kong.Context, c console, name, purpose string, do act) error {
	how := j.do
	if j.stops {
		how = j.stop
	}
	return how(k, c, name, func(ctx context.Context, op *operator.Operator, person operator.Person) error {
		digest, err := j.seen(ctx, c, op, person, sight{j.ID, j.Digest, purpose})
		if err != nil {
			return err
		}
		out, err := do(op, ctx, person, operator.ActInput{ID: j.ID, Digest: digest, Note: j.Note})
		if j.stops {
			out, err = stood(c, out, err)
		}
		if err != nil {
			return err
		}
		if err := j.tell(c, out); err != nil {
			return err
		}
		return j.tellFrozen(ctx, c, op, person)
	})
}

// errNotSeen is somebody who would decide on what they did not look at.
const errNotSeen = usageError("nobody decides on what they did not see: look at it with \"reeve inbox show\", then give its digest with --digest")

// errNotConfirmed is a person who looked, and left it.
var errNotConfirmed = errors.New("the word was not typed, so nothing was changed")

// errTooNarrow is a terminal on which nobody could read what they decide on.
var errTooNarrow = fmt.Errorf("this terminal has fewer than %d columns, too few to show what you would decide on: make it wider", narrowest)

// sight is what a person says they saw: an intent, and its digest unless they are
// shown it now. The purpose ends the sentence "Type this to …".
type sight struct {
	id      int64
	digest  string
	purpose string
}

// seen is the digest of what the person was shown: the one they name, or that of
// what they are shown here and now.
func (p *personal) seen(ctx context.Context, c console, op *operator.Operator, person operator.Person, s sight) (string, error) {
	if s.digest != "" {
		return s.digest, nil
	}
	if p.JSON {
		return "", errNotSeen
	}
	tty, err := attended(c.in)
	if err != nil {
		return "", errNotSeen
	}
	defer tty.Close()
	in, err := op.ShowIntent(ctx, person, s.id)
	if err != nil {
		return "", err
	}
	// It is shown where it is asked, wherever the output goes.
	return in.Digest, ask(tty, op.Now(), in, s.purpose)
}

// confirming is how many characters the word has that a person types: 20 random bits.
const confirming = 4

// ask shows an intent, and asks for a word that was made for the question.
func ask(tty *os.File, now time.Time, in operator.Intent, purpose string) error {
	page := newPage(tty)
	if page.width < narrowest {
		return errTooNarrow
	}
	page.intent(now, in)
	page.say("")
	page.deciding(in)
	page.say("")
	// A word made now: whoever recorded the intent knows everything else that is shown.
	word := strings.ToLower(rand.Text()[:confirming])
	yes, err := confirm(tty, fmt.Sprintf("Type %s to %s, or press Enter to leave it: ", word, purpose), word)
	if err == nil && !yes {
		err = errNotConfirmed
	}
	return err
}

// tell says where the intent stands after an act.
func (p *personal) tell(c console, in operator.Intent) error {
	if p.JSON {
		return printJSON(c.out, in)
	}
	line := fmt.Sprintf("Intent %d is %s.", in.ID, in.Status)
	switch {
	case in.Status == gate.StatusPendingApproval && in.Quorum > 1:
		line += fmt.Sprintf(" %d different people have to approve it.", in.Quorum)
	case in.Status == gate.StatusApproved && in.ExpiresAt != nil:
		line += " A worker may carry it out until " + moment(*in.ExpiresAt) + "."
	}
	_, err := fmt.Fprintln(c.out, line)
	return err
}

type inboxApproveCmd struct {
	judgement `embed:""`
}

func (a *inboxApproveCmd) Run(k *kong.Context, c console) error {
	return a.run(k, c, "approve_intent", "approve exactly this", (*operator.Operator).Approve)
}

type inboxRejectCmd struct {
	judgement `embed:""`
}

func (r *inboxRejectCmd) Run(k *kong.Context, c console) error {
	return r.run(k, c, "reject_intent", "reject this for good", (*operator.Operator).Reject)
}

type inboxIgnoreCmd struct {
	judgement `embed:""`
}

func (i *inboxIgnoreCmd) Run(k *kong.Context, c console) error {
	return i.run(k, c, "ignore_intent", "close this without a judgement", (*operator.Operator).Ignore)
}

type inboxRevokeCmd struct {
	judgement `embed:""`
}

func (r *inboxRevokeCmd) Run(k *kong.Context, c console) error {
	r.stops = true
	return r.run(k, c, "revoke_intent", "take this back", (*operator.Operator).Revoke)
}

type inboxRespondCmd struct {
	personal `embed:""`
	ID       int64  `arg:"" help:"The intent's number."`
	Text     string `arg:"" help:"Your words to the agent."`
}

func (r *inboxRespondCmd) Run(k *kong.Context, c console) error {
	return r.do(k, c, "respond_intent", func(ctx context.Context, op *operator.Operator, person operator.Person) error {
		out, err := op.Respond(ctx, person, operator.RespondInput{ID: r.ID, Text: r.Text})
		if err != nil {
			return err
		}
		return r.tell(c, out)
	})
}

type inboxReissueCmd struct {
	personal `embed:""`
	ID       int64 `arg:"" help:"The intent's number."`
}

func (r *inboxReissueCmd) Run(k *kong.Context, c console) error {
	return r.do(k, c, "reissue_intent", func(ctx context.Context, op *operator.Operator, person operator.Person) error {
		out, err := op.Reissue(ctx, person, operator.ReissueInput{ID: r.ID})
		if err != nil {
			return err
		}
		return r.tell(c, out)
	})
}

type inboxSettleCmd struct {
	personal `embed:""`
	ID       int64  `arg:"" help:"The intent's number."`
	Status   string `arg:"" enum:"succeeded,failed" help:"What really happened: succeeded or failed."`
	Digest   string `placeholder:"HEX" help:"The digest of what you were shown, as \"reeve inbox show\" prints it. Without it you are shown it now, on a terminal, and asked."`
	Note     string `placeholder:"TEXT" help:"How you know, for the record."`
}

func (s *inboxSettleCmd) Run(k *kong.Context, c console) error {
	return s.do(k, c, "settle_intent", func(ctx context.Context, op *operator.Operator, person operator.Person) error {
		digest, err := s.seen(ctx, c, op, person, sight{s.ID, s.Digest, "settle this as " + s.Status})
		if err != nil {
			return err
		}
		// What is executed has a digest that never changes, so that looking first
		// is as good as looking in the same transaction.
		present, err := op.ShowIntent(ctx, person, s.ID)
		if err != nil {
			return err
		}
		if present.Digest != digest {
			return otherDigest(present)
		}
		out, err := op.Settle(ctx, person, operator.SettleInput{ID: s.ID, Status: s.Status, Note: s.Note})
		if err != nil {
			return err
		}
		return s.tell(c, out)
	})
}

// otherDigest refuses to settle something else than what was looked at, as the
// other acts do.
func otherDigest(present operator.Intent) error {
	var r *operator.Refusal
	if !errors.As(operator.ErrDigestMismatch, &r) {
		return operator.ErrDigestMismatch
	}
	refusal := *r // the sentinel stays as it is
	refusal.Message = "This is not what you were shown; here it is as it is now."
	refusal.Details = map[string]any{"present": present}
	return &refusal
}
