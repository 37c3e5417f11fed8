package main

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/reeve-go/reeve/gate"
	"github.com/reeve-go/reeve/operator"
)

// policyLook is how often the file of --policy is looked at.
const policyLook = time.Second

// policyFile is the file of --policy: it is loaded at the start, and again whenever
// its content changes. It never makes the account's policy milder by itself.
type policyFile struct {
	name string
	load func(ctx context.Context, file string, text []byte) (operator.PolicyInfo, error)
	log  *slog.Logger
	seen [sha256.Size]byte
	said string // the last complaint, which is not repeated each second
}

// begin loads the file at the start. What loosens, or asks for more people than there
// are, does not keep a server from serving by the policy that is stored.
func (p *policyFile) begin(ctx context.Context, out io.Writer, text []byte) error {
	p.seen = sha256.Sum256(text)
	_, err := p.load(ctx, p.name, text)
	if errors.Is(err, operator.ErrVersionConflict) {
		p.seen = [sha256.Size]byte{} // somebody else loads as well: the first look tries again
		return nil
	}
	if !errors.Is(err, operator.ErrPolicyLoosens) && !errors.Is(err, operator.ErrQuorum) {
		return err
	}
	p.refused(err)
	fmt.Fprintf(out, "WARNING: %s was NOT loaded, and the policy that is stored holds on.\n%s\n", visibleLine(p.name), visibleText(held(p.name, err), ""))
	return nil
}

// watch looks at the file at each tick, and whatever it holds at each signal.
func (p *policyFile) watch(ctx context.Context, ticks <-chan time.Time, again <-chan os.Signal) {
	for {
		select {
		case <-ctx.Done():
			return
		case <-ticks:
			p.look(ctx, false)
		case <-again:
			p.look(ctx, true)
		}
	}
}

// look loads the file where its content is another one than before, or anyway.
func (p *policyFile) look(ctx context.Context, anyway bool) {
	text, err := readWhole(p.name)
	if err != nil {
		p.complain("the policy file cannot be read; the policy that was loaded holds on", err)
		return
	}
	sum := sha256.Sum256(text)
	if sum == p.seen && !anyway {
		p.said = "" // it was gone, and is as it was
		return
	}
	p.seen = sum
	out, err := p.load(ctx, p.name, text)
	switch {
	case err == nil:
		p.said = ""
		p.log.Info("the policy file was loaded", "file", p.name, "policy", out.Version, "changed", out.Changed)
	case errors.Is(err, operator.ErrUnavailable), errors.Is(err, operator.ErrVersionConflict):
		p.seen = [sha256.Size]byte{} // another look may find it otherwise
		p.complain("the policy file could not be loaded yet; the policy that was loaded holds on", err)
	default:
		p.refused(err)
	}
}

func (p *policyFile) refused(err error) {
	var loosens *operator.LoosensError
	if !errors.As(err, &loosens) {
		p.complain("the policy file was not loaded; the policy that was loaded holds on", err)
		return
	}
	ids := loosens.Missing[:min(len(loosens.Missing), shortList)]
	p.log.Error("the policy file loosens the policy, and an owner has not accepted that; the policy that was loaded holds on", "file", p.name,
		"base", loosens.Base, "loosens", ids, "total", len(loosens.Loosens), "accept", "reeve policy load "+quoted(p.name)+" (it lists what to accept, and how)")
}

// complain says each thing once.
func (p *policyFile) complain(what string, err error) {
	why := gate.Redact(err.Error())
	if p.said == what+why {
		return
	}
	p.said = what + why
	p.log.Error(what, "file", p.name, "error", why)
}

// readWhole reads a file that may be a policy: no further than one can be long.
func readWhole(name string) ([]byte, error) {
	f, err := os.Open(name)
	if err != nil {
		return nil, cause(err)
	}
	defer f.Close()
	return io.ReadAll(io.LimitReader(f, gate.MaxPolicySize+1))
}

// watchUntil watches until ctx ends, by the machine's clock and SIGHUP.
func (p *policyFile) watchUntil(ctx context.Context) {
	again := make(chan os.Signal, 1)
	signal.Notify(again, syscall.SIGHUP)
	defer signal.Stop(again)
	ticker := time.NewTicker(policyLook)
	defer ticker.Stop()
	p.watch(ctx, ticker.C, again)
}
