package main

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"time"

	"github.com/alecthomas/kong"

	"github.com/reeve-go/reeve/operator"
)

type doctorCmd struct {
	database  `embed:""`
	Listen    string   `default:"127.0.0.1:3401" placeholder:"HOST:PORT" help:"Where the server listens, as it was told; ${default} when left out."`
	Metrics   string   `name:"metrics-listen" placeholder:"HOST:PORT" help:"Its second address, as it was told."`
	AllowHost []string `placeholder:"NAME" help:"As the server was told. May be repeated."`
	Rate      float64  `default:"200" placeholder:"N" help:"As the server was told; ${default} when left out."`
	Notify    string   `placeholder:"HOOK" help:"As the server was told: it is looked at, and not called."`
	TokenFile []string `placeholder:"FILE" help:"A file that holds a credential, to see who can read it. May be repeated."`
	Ready     bool     `help:"Only ask the server at --listen whether it is ready: for a container's health check."`
	JSON      bool     `name:"json" help:"Print one JSON object and nothing else."`
}

func (*doctorCmd) Help() string {
	return `It changes nothing, and may be run beside a server. Give it the server's own flags, or its environment. Each line is ok, warn or fail, and says what to do; it ends with 1 where one of them is fail.

    reeve doctor
    reeve doctor --token-file person.token --notify 'exec:./tell.sh'
    reeve doctor --ready`
}

// grade is how a check came out.
type grade string

const (
	fine grade = "ok"
	warn grade = "warn"
	fail grade = "fail"
)

// finding is a line of the doctor's.
type finding struct {
	Check string `json:"check"`
	Grade grade  `json:"grade"`
	Says  string `json:"says"`
	Do    string `json:"do,omitempty"`
}

// report is what the doctor found, in the order in which it looked.
type report struct {
	Findings []finding `json:"findings"`
	now      time.Time
}

func (r *report) ok(check, says string, args ...any) {
	r.Findings = append(r.Findings, finding{check, fine, fmt.Sprintf(says, args...), ""})
}

func (r *report) found(g grade, check, do, says string, args ...any) {
	r.Findings = append(r.Findings, finding{check, g, fmt.Sprintf(says, args...), do})
}

// worst says whether anything is a fail.
func (r *report) failed() bool {
	for _, f := range r.Findings {
		if f.Grade == fail {
			return true
		}
	}
	return false
}

// errUnwell ends the program with 1; the lines have said why.
var errUnwell = answered{errors.New("the doctor found something that has to be put right")}

func (d *doctorCmd) Run(k *kong.Context, c console) error {
	if d.Ready {
		return d.ready(c)
	}
	where, err := d.where(k)
	if err != nil {
		return err
	}
	hook, err := notifyHook(d.Notify)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	r := &report{now: time.Now()}
	embedded := where != d.DatabaseURL
	if embedded {
		r.folder(where)
	}
	for _, file := range d.TokenFile {
		r.secret("credential", file)
	}
	key := d.keyFile(k)
	if key == "" {
		key = filepath.Join(where, operator.AuditKeyName)
	}
	r.database(ctx, d, where, key)
	if hook != nil {
		r.hook(ctx, hook)
	}
	r.settings(d)
	return r.tell(c, d.JSON)
}

// tell prints the report.
func (r *report) tell(c console, asJSON bool) error {
	if asJSON {
		if err := printJSON(c.out, struct {
			OK bool `json:"ok"`
			*report
		}{!r.failed(), r}); err != nil {
			return err
		}
	} else {
		for _, f := range r.Findings {
			fmt.Fprintf(c.out, "%-4s  %-11s %s\n", f.Grade, f.Check, visibleLine(f.Says))
			if f.Do != "" {
				fmt.Fprintf(c.out, "%18s%s\n", "", visibleLine(f.Do))
			}
		}
	}
	if r.failed() {
		return errUnwell
	}
	return nil
}

// database looks at the database itself, and at everything in it.
func (r *report) database(ctx context.Context, d *doctorCmd, where, key string) {
	e, err := operator.Examine(ctx, where, key)
	if err != nil {
		r.found(fail, "database", "Without it nothing else can be looked at.", "%s", d.unopened(where, err))
		return
	}
	if e.Unwritable != "" {
		r.found(fail, "database", "Name the primary, and a user who may write.", "It takes no writes: %s.", e.Unwritable)
	} else {
		r.ok("database", "It answers: %s %s.", e.Database, e.Version)
	}
	if !r.schema(e) {
		return
	}
	r.clock(e)
	r.record(e, key)
	r.notices(e, d.Notify != "")
	r.policy(e)
	r.people(e)
	r.credentials(e)
}

func (r *report) schema(e operator.Examination) bool {
	s := e.Schema
	switch {
	case s.At == s.Known:
		r.ok("schema", "It stands at %d, as this program's.", s.At)
	case s.At > s.Known:
		r.found(fail, "schema", "Run the version of reeve that was run last, or a newer one; this one refuses to start.", "It stands at %d, and this program knows %d.", s.At, s.Known)
	default:
		r.found(warn, "schema", "Make a backup, and run \"reeve migrate\"; \"reeve serve\" does so as well when it starts. The rest is looked at after that.", "It stands at %d, and this program's is %d.", s.At, s.Known)
	}
	return e.Current()
}

// readyWithin bounds the question whether a server is ready, a little above the
// server's own bound.
const readyWithin = 8 * time.Second

// ready asks the running server.
func (d *doctorCmd) ready(c console) error {
	url, err := baseURL(d.Listen)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(context.Background(), readyWithin)
	defer cancel()
	req, err := http.NewRequestWithContext(ctx, http.MethodGet, url+"/readyz", nil)
	if err != nil {
		return err
	}
	resp, err := (&http.Client{Transport: &http.Transport{}}).Do(req) // no proxy: it is this machine's
	if err != nil {
		return fmt.Errorf("no server answers at %s", url)
	}
	defer resp.Body.Close()
	if resp.StatusCode != http.StatusOK {
		return fmt.Errorf("the server at %s is not ready (%d): its log says why", url, resp.StatusCode)
	}
	_, err = fmt.Fprintln(c.out, "ready")
	return err
}

// secret looks who can read a file that holds one.
func (r *report) secret(check, file string) {
	info, err := os.Stat(file)
	switch {
	case err != nil:
		r.found(warn, check, "Name the file that is there.", "%s cannot be looked at: %s", file, cause(err))
	case !info.Mode().IsRegular():
		r.found(fail, check, "Put the credential into a file of its own.", "%s is no plain file", file)
	case info.Mode().Perm()&0o077 != 0:
		r.found(fail, check, "Run \"chmod 600\" on it, and replace the credential (reeve token rotate): somebody may have read it.",
			"%s can be read by others: its mode is %04o.", file, info.Mode().Perm())
	default:
		r.ok(check, "%s can be read by its owner alone.", file)
	}
}

// hookWithin bounds the look at a hook.
const hookWithin = 5 * time.Second

func (r *report) hook(ctx context.Context, h interface{ Reach(context.Context) error }) {
	ctx, cancel := context.WithTimeout(ctx, hookWithin)
	defer cancel()
	if err := h.Reach(ctx); err != nil {
		r.found(fail, "notify", "Nobody is told that something waits until it can be called.", "The hook cannot be called: %s.", err)
		return
	}
	r.ok("notify", "The hook could be called. It was not: a notice shows whether it does what it should.")
}

// settings judges what the server was told.
func (r *report) settings(d *doctorCmd) {
	before := len(r.Findings)
	for _, given := range [][2]string{{"--listen", d.Listen}, {"--metrics-listen", d.Metrics}} {
		flag, listen := given[0], given[1]
		if listen == "" || isLoopback(listen) {
			continue
		}
		do := "Listen on 127.0.0.1, with a proxy that speaks TLS in front."
		if flag == "--metrics-listen" {
			do = "Let only the scraper reach that address: it asks for no credential."
		}
		r.found(warn, "settings", do, "%s %s can be reached from other machines, unencrypted.", flag, listen)
	}
	if !isLoopback(d.Listen) && len(d.AllowHost) == 0 {
		r.found(warn, "settings", "Give --allow-host NAME.", "Requests that are sent to any name but a loopback one are refused.")
	}
	if d.Rate == 0 {
		r.found(warn, "settings", "Leave --rate out, or give a number.", "Nothing bounds how many requests a principal makes.")
	}
	if len(r.Findings) == before {
		r.ok("settings", "None of those that were given is weak.")
	}
}

func isLoopback(listen string) bool {
	host, _, ok := strings.Cut(listen, ":")
	return ok && (host == "localhost" || strings.HasPrefix(host, "127.")) || strings.HasPrefix(listen, "[::1]:")
}
