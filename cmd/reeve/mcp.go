package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/mcpadapter"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// mcpCmd has its own flags for a database: here the usual folder is not what is
// meant when nothing is said.
type mcpCmd struct {
	URL         string        `name:"url" placeholder:"URL" help:"Address of the running server; http://127.0.0.1:3401 when left out. http is for this machine alone."`
	TokenFile   string        `required:"" placeholder:"FILE" help:"File that holds the agent's credential and nothing else. A credential is never taken from an argument or from the environment."`
	PlainHTTP   bool          `name:"plain-http" help:"Let the credential cross the network unencrypted, to a server that has no https."`
	Grace       time.Duration `default:"30s" help:"How long answers may still take once the input has ended; ${default} when left out."`
	Dir         string        `placeholder:"DIR" help:"Open the embedded database in this folder, in place of a server. It hands the agent's process the whole database."`
	DatabaseURL string        `name:"database-url" placeholder:"URL" help:"Open this PostgreSQL, in place of a server. It hands the agent's process the whole database."`
	Toolsets    []string      `placeholder:"NAME,…" help:"Toolsets to serve beside the operator's own; for a database. A server has its own."`
	ToolPrefix  string        `placeholder:"PREFIX" help:"What the names of the tools begin with, as acme_; for a database. A server has its own."`
}

func (*mcpCmd) Help() string {
	return `A host starts it and talks to it, one JSON-RPC message a line. It decides nothing: each message goes to the running server, with the credential of the file.

    reeve mcp --url http://127.0.0.1:3401 --token-file agent.token
    claude mcp add reeve -- reeve mcp --url http://127.0.0.1:3401 --token-file /path/to/agent.token

Standard output carries messages and nothing else; the log is on standard error. The end of the input, SIGINT and SIGTERM end it, once what is under way has been answered.`
}

func (m *mcpCmd) Run(k *kong.Context, c console) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)
	// A host that has gone is an error like any other, and not a signal.
	signal.Ignore(syscall.SIGPIPE)
	if m.Grace <= 0 {
		return usagef("--grace must be longer than nothing")
	}
	local, err := m.local(k)
	if err != nil {
		return err
	}
	token, err := readToken(c, m.TokenFile)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(c.err, nil))
	opts := &mcpadapter.BridgeOptions{Logger: log, PlainHTTP: m.PlainHTTP, Grace: m.Grace}
	if local {
		return m.serve(ctx, k, c, token, opts)
	}
	bridge, err := mcpadapter.NewBridge(m.address(), token, opts)
	if err != nil {
		return m.unfit(err)
	}
	return bridge.Run(ctx, c.in, c.out)
}

// local says whether to open a database. A flag wins over the environment; a
// server and a database of equal standing are refused, as two databases are.
func (m *mcpCmd) local(k *kong.Context) (bool, error) {
	url := onCommandLine(k, "url")
	database := onCommandLine(k, "dir") || onCommandLine(k, "database-url")
	either := m.Dir != "" || m.DatabaseURL != ""
	switch {
	case url && database:
		return false, usagef("--url names a server, --dir and --database-url a database: give one of them")
	case url || database:
		return database, m.prefixed(k, database)
	case m.URL != "" && either:
		return false, usagef("REEVE_URL names a server, REEVE_DIR and REEVE_DATABASE_URL a database: unset one, or give one as a flag")
	}
	return either, m.prefixed(k, either)
}

func (m *mcpCmd) prefixed(k *kong.Context, local bool) error {
	for _, flag := range []string{"tool-prefix", "toolsets"} {
		if !local && onCommandLine(k, flag) {
			return usagef("--%s is for a database: a server has its own", flag)
		}
	}
	return nil
}

func (m *mcpCmd) address() string {
	if m.URL == "" {
		return "http://" + defaultListen
	}
	return m.URL
}

// unfit tells why there can be no bridge.
func (m *mcpCmd) unfit(err error) error {
	if errors.Is(err, mcpadapter.ErrCredential) {
		return fmt.Errorf("the credential's file %s is no good: %w", m.TokenFile, err)
	}
	return usagef("--url: %s (--plain-http allows what is not encrypted)", err)
}

// serve is a server without an address, for one host.
func (m *mcpCmd) serve(ctx context.Context, k *kong.Context, c console, token string, opts *mcpadapter.BridgeOptions) error {
	op, err := database{Dir: m.Dir, DatabaseURL: m.DatabaseURL}.open(ctx, k, &operator.Options{Logger: opts.Logger})
	if err != nil {
		return err
	}
	defer op.Close()
	schedule, err := scheduleOf(op, m.Toolsets, powers.Limits{})
	if err != nil {
		return err
	}
	handler, err := mcpadapter.New(schedule, &mcpadapter.Options{Version: versionText(), ToolPrefix: m.ToolPrefix, Logger: op.Logger()})
	if err != nil {
		return err
	}
	bridge, err := mcpadapter.NewLocalBridge(handler, token, opts)
	if err != nil {
		return m.unfit(err)
	}
	fmt.Fprintln(c.err, "reeve: warning: this process holds the database, and so does whoever started it; with --url it would hold an agent's credential alone")
	context.AfterFunc(ctx, op.StopWaiting)
	tending, enough := context.WithCancel(ctx)
	tended := make(chan struct{})
	go func() { op.Tend(tending, tendEvery); close(tended) }()
	defer func() { enough(); <-tended }()
	return bridge.Run(ctx, &ending{c.in, op.StopWaiting}, c.out)
}

// ending is an input that tells of its end, so that nobody waits any more for
// what nobody will read.
type ending struct {
	io.Reader
	ended func()
}

func (e *ending) Read(p []byte) (int, error) {
	n, err := e.Reader.Read(p)
	if err != nil {
		e.ended()
	}
	return n, err
}
