package main

import (
	"context"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"os"
	"os/signal"
	"slices"
	"syscall"
	"time"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/mcpadapter"
	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/hook"
	"github.com/reeve-go/reeve/operator/powers"
	"github.com/reeve-go/reeve/restadapter"
)

const (
	// drainWithin is how long a server that was told to stop waits for what is
	// under way.
	drainWithin = 10 * time.Second
	// tendEvery is how often what lapsed is marked so.
	tendEvery = time.Second
	// strangerRate and strangerBurst bound how many rows of the record one address
	// makes that presents no live credential, a second and at once.
	strangerRate, strangerBurst = 1, 300
)

type serveCmd struct {
	database    `embed:""`
	Policy      string        `placeholder:"FILE" help:"Policy file to load at the start, and again whenever its content changes or SIGHUP comes. It holds for every process on the database, and stays when this flag is left out. What would loosen the policy that holds is not loaded until an owner has accepted it: see reeve policy load."`
	Listen      string        `default:"127.0.0.1:3401" placeholder:"HOST:PORT" help:"Address to listen on, ${default} when left out; port 0 takes a free one."`
	AllowHost   []string      `placeholder:"NAME" help:"A name, besides loopback ones, that requests may be sent to. May be repeated. Needed where --listen is not on loopback."`
	AllowOrigin []string      `placeholder:"ORIGIN" help:"A web origin whose pages may call, as https://app.example. May be repeated."`
	ToolPrefix  string        `placeholder:"PREFIX" help:"What the names of the MCP tools begin with, as acme_."`
	Toolsets    []string      `placeholder:"NAME,…" help:"Toolsets to serve over MCP beside the operator's own. The account's kit has to have them too."`
	Rate        float64       `default:"200" placeholder:"N" help:"How many requests a second one principal may make, ${default} when left out, and five times as many at once. 0 is any number. It is this process's own: two servers let through twice as many."`
	MaxConns    int           `name:"max-connections" default:"1024" placeholder:"N" help:"How many connections are held at once, ${default} when left out. Beyond it the one that has sent nothing whole for the longest is closed."`
	MaxPerAddr  int           `name:"max-connections-per-address" default:"512" placeholder:"N" help:"How many of them one address may have, ${default} when left out. Behind a proxy, every caller has the proxy's."`
	Metrics     string        `name:"metrics-listen" placeholder:"HOST:PORT" help:"A second address, for /metrics alone and without a credential; there is none when left out. A worker's or a person's credential gets /metrics from the first one."`
	DrainDelay  time.Duration `placeholder:"TIME" help:"How long requests are still taken after SIGINT or SIGTERM while /readyz says 503, for a proxy to notice; none when left out."`
	Notify      string        `placeholder:"HOOK" help:"Tell somebody that something waits: exec:COMMAND or http:URL, given the notice as JSON."`
}

func (*serveCmd) Help() string {
	return `MCP is at /mcp, REST at /v1, and /healthz and /readyz are open. The first start on an empty database makes a person and an agent, and prints their credentials once.

    reeve serve
    reeve serve --dir /var/lib/reeve --listen 127.0.0.1:8080
    reeve serve --notify 'exec:jq -r .payload.title | mail -s "Something waits" you@example.com'
    REEVE_DATABASE_URL=postgres://reeve@db/reeve reeve serve

Any number of servers may run on one database. On PostgreSQL each needs a copy of the audit key, which the first one makes in ./reeve-data/audit.key, or --audit-key. SIGINT and SIGTERM stop it once what is under way has been answered. Traces are sent where the environment names a collector, as OTEL_EXPORTER_OTLP_ENDPOINT=http://127.0.0.1:4318.`
}

func (s *serveCmd) Run(k *kong.Context, c console) error {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	// A second signal ends it at once: the first one gave the default back.
	context.AfterFunc(ctx, stop)
	return s.serve(ctx, k, c)
}

// serve checks everything that can be wrong before it makes anything.
func (s *serveCmd) serve(ctx context.Context, k *kong.Context, c console) error {
	where, err := s.where(k)
	if err != nil {
		return err
	}
	var policy []byte
	if s.Policy != "" {
		var err error
		if policy, _, err = readPolicy(s.Policy); err != nil {
			return err
		}
	}
	if _, err := toolsets(s.Toolsets); err != nil {
		return err
	}
	if !(s.Rate >= 0) {
		return usagef("--rate is a number of requests a second, 0 for any number")
	}
	if s.MaxConns < 1 || s.MaxPerAddr < 1 {
		return usagef("--max-connections and --max-connections-per-address are 1 or more")
	}
	if s.DrainDelay < 0 || s.DrainDelay > longestDrain {
		return usagef("--drain-delay is from 0s to %s", longestDrain)
	}
	notify, err := notifyHook(s.Notify)
	if err != nil {
		return err
	}
	log := slog.New(slog.NewJSONHandler(c.err, nil))
	watched, err := s.watch(ctx, log)
	if err != nil {
		return err
	}
	defer watched.close()
	listener, err := occupy("--listen", s.Listen)
	if err != nil {
		return err
	}
	defer listener.Close()
	s.AuditKey = s.keyFile(k)
	op, err := s.make(ctx, k, &operator.Options{Logger: log, Moved: watched.metrics.Moved})
	if err != nil {
		return err
	}
	defer op.Close()
	server, schedule, err := s.server(op, watched)
	if err != nil {
		return err
	}
	url, err := reachable(s.Listen, listener)
	if err != nil {
		return err
	}
	made, first, err := install(ctx, op, schedule, operator.Initial{})
	if err != nil {
		return err
	}
	if first {
		if err := welcome(c.out, made, newcomer{url, s.ToolPrefix, s.inboxCommand(where), true}); err != nil {
			return err
		}
	}
	file := s.policyFile(op)
	if file != nil {
		if err := file.begin(ctx, c.out, policy); err != nil {
			return err
		}
		if err := manyNeeded(ctx, c.out, op); err != nil {
			return err
		}
	}
	s.warn(c, op.Logger(), listener.Addr())
	s.sayMetrics(c, watched)
	key, public := op.AuditKey()
	fmt.Fprintf(c.out, "The record is sealed by %s (%s).\n", public, visibleLine(key))
	fmt.Fprintf(c.out, "reeve is ready on %s (MCP at /mcp, REST at /v1, %s in %s, audit key in %s)\n", url, op.Database(), s.named(where), visibleLine(key))
	bounded := restadapter.Connections{Total: s.MaxConns, PerAddress: s.MaxPerAddr}.Guard(server, listener)
	watched.metrics.Watch(op, bounded.Open)
	return s.until(ctx, &running{op: op, schedule: schedule, server: server, listener: bounded, notify: notify, watched: watched, policy: file})
}

// policyFile is the file of --policy, nil where none was named.
func (s *serveCmd) policyFile(op *operator.Operator) *policyFile {
	if s.Policy == "" {
		return nil
	}
	load := func(ctx context.Context, file string, text []byte) (operator.PolicyInfo, error) {
		return op.LoadPolicy(ctx, "", file, text)
	}
	return &policyFile{name: s.Policy, load: load, log: op.Logger()}
}

func notifyHook(spec string) (*hook.Hook, error) {
	if spec == "" {
		return nil, nil
	}
	h, err := hook.Parse(spec, nil)
	if err != nil {
		return nil, usagef("--notify: %s", err)
	}
	return h, nil
}

// named is the database as it may be printed.
func (d database) named(where string) string {
	if where == d.DatabaseURL {
		return "the database of --database-url"
	}
	return where
}

// reachable is the address under which a listener answers, with its real port.
func reachable(listen string, l net.Listener) (string, error) {
	host, _, err := net.SplitHostPort(listen)
	if err != nil {
		return "", err
	}
	_, port, err := net.SplitHostPort(l.Addr().String())
	if err != nil {
		return "", err
	}
	return baseURL(net.JoinHostPort(host, port))
}

// server puts both faces of one schedule behind one address.
func (s *serveCmd) server(op *operator.Operator, w *watched) (*http.Server, *powers.Schedule, error) {
	schedule, err := scheduleOf(op, s.Toolsets, powers.Limits{Rate: s.Rate, StrangerRate: strangerRate, StrangerBurst: strangerBurst})
	if err != nil {
		return nil, nil, err
	}
	schedule = schedule.WithObserver(w.call)
	mcp, err := mcpadapter.New(schedule, &mcpadapter.Options{Version: versionText(), ToolPrefix: s.ToolPrefix, Logger: op.Logger(),
		AllowedHosts: s.AllowHost, AllowedOrigins: s.AllowOrigin})
	if err != nil {
		return nil, nil, err
	}
	rest, err := restadapter.New(schedule, &restadapter.Options{Version: versionText(), Logger: op.Logger(),
		AllowedHosts: s.AllowHost, AllowedOrigins: s.AllowOrigin, Ready: w.ready(op), Metrics: w.metrics.Text})
	if err != nil {
		return nil, nil, err
	}
	server := restadapter.Server(s.Listen, w.around(faces(mcp, rest)))
	server.ErrorLog = slog.NewLogLogger(op.Logger().Handler(), slog.LevelWarn)
	server.RegisterOnShutdown(op.StopWaiting)
	return server, schedule, nil
}

// toolsets reads --toolsets, before anything is opened or made.
func toolsets(named []string) ([]powers.Toolset, error) {
	var out []powers.Toolset
	for _, n := range named {
		if !slices.Contains(powers.Toolsets(), powers.Toolset(n)) {
			return nil, usagef("--toolsets: there is no toolset %q; the toolsets are %v", n, powers.Toolsets())
		}
		out = append(out, powers.Toolset(n))
	}
	return out, nil
}

// scheduleOf is the schedule with the toolsets that are named, over MCP, for callers
// that are held to limits.
func scheduleOf(op *operator.Operator, named []string, l powers.Limits) (*powers.Schedule, error) {
	sets, err := toolsets(named)
	if err != nil {
		return nil, err
	}
	schedule, err := powers.NewLimited(op, l)
	if err != nil {
		return nil, err
	}
	return schedule.WithToolsets(sets...)
}

// faces sends a request to its adapter by the path as it came. A ServeMux would
// redirect what is not canonical, before anybody looked at Host or credential.
func faces(mcp, rest http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path == "/mcp" {
			mcp.ServeHTTP(w, r)
			return
		}
		rest.ServeHTTP(w, r)
	})
}

// warn is loud where more than this machine can reach the server.
func (s *serveCmd) warn(c console, log *slog.Logger, address net.Addr) {
	if onLoopback(address) {
		return
	}
	fmt.Fprintf(c.out, "WARNING: %s can be reached from other machines, and credentials cross the network unencrypted.\n"+
		"WARNING: Put a proxy that speaks TLS in front of it, or listen on 127.0.0.1.\n", address)
	if len(s.AllowHost) == 0 {
		fmt.Fprintln(c.out, "WARNING: Without --allow-host NAME, requests that are sent to any name but this machine's own loopback ones are refused.")
	}
	log.Warn("listening beyond loopback without TLS", "address", address.String(), "allowed_hosts", s.AllowHost)
}
