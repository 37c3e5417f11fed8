package main

import (
	"errors"
	"fmt"
	"os"

	"github.com/alecthomas/kong"
)

// Exit codes, besides 0.
const (
	exitRefused = 1 // it was said no, or it did not work
	exitUsage   = 2 // the command was not understood
)

// console is where a command reads and writes.
type console struct {
	in       *os.File
	out, err *os.File
}

const about = `An autonomous agent works for you under enumerated powers: it can record what it wants done, and only you can approve it.

Begin with "reeve serve": the first start makes a database, shows a credential for the agent and one for you, and says how to connect. Look at what waits with "reeve inbox", and carry out what you approved with "reeve work".

Every flag can also be set in the environment: --database-url is REEVE_DATABASE_URL. A flag wins over the environment.

Exit codes: 0 done, 1 refused or failed, 2 the command was not understood.`

// cli is every subcommand, in the order in which somebody new meets them.
type cli struct {
	Serve    serveCmd    `cmd:"" help:"Serve agents over MCP and REST, and people over REST."`
	Init     initCmd     `cmd:"" help:"Make the database and the first two credentials, without serving."`
	Inbox    inboxCmd    `cmd:"" help:"See what waits for you, and decide it."`
	Work     workCmd     `cmd:"" help:"Carry out what was approved, by your own commands or addresses."`
	Comment  commentCmd  `cmd:"" help:"Record your own words."`
	MCP      mcpCmd      `cmd:"" name:"mcp" help:"Connect an agent whose host starts a command: MCP over standard input and output."`
	Token    tokenCmd    `cmd:"" help:"Make, list, rotate and revoke credentials."`
	People   peopleCmd   `cmd:"" help:"Keep the list of people who may decide."`
	Project  projectCmd  `cmd:"" help:"Keep the projects of the account."`
	Standing standingCmd `cmd:"" help:"Keep your standing approvals: what you allow from now on."`
	Freeze   freezeCmd   `cmd:"" help:"Stop everything that reaches outside, at once."`
	Unfreeze unfreezeCmd `cmd:"" help:"Lift a freeze."`
	Kit      kitCmd      `cmd:"" help:"Say which tools the account has at all."`
	Grant    grantCmd    `cmd:"" help:"Let an agent call the tools that spend, within a limit and until a day."`
	Policy   policyCmd   `cmd:"" help:"Show the policy, and check a policy file."`
	Audit    auditCmd    `cmd:"" help:"Export the sealed record, verify one, and keep its key."`
	Migrate  migrateCmd  `cmd:"" help:"Bring the database's schema up to date, or say where it stands."`
	Backup   backupCmd   `cmd:"" help:"Copy the embedded database into a file, beside a running server."`
	Doctor   doctorCmd   `cmd:"" help:"Look over the database, its files and the settings, and say what is wrong."`
	Version  versionCmd  `cmd:"" help:"Print the version."`
}

// run is the whole program: it returns the exit code.
func run(args []string, c console) int {
	parser, err := kong.New(&cli{}, kong.Name("reeve"), kong.Description(about), kong.DefaultEnvars("REEVE"),
		kong.Writers(c.out, c.err), kong.ShortUsageOnError(),
		kong.ConfigureHelp(kong.HelpOptions{Compact: true, NoExpandSubcommands: true}))
	if err != nil {
		fmt.Fprintln(c.err, "reeve: the command line is broken:", err)
		return exitRefused
	}
	if len(args) == 0 {
		args = []string{"--help"}
	}
	k, err := parser.Parse(args)
	if err != nil {
		return c.misunderstood(err.Error(), parsed(err))
	}
	err = k.Run(c)
	var usage usageError
	switch {
	case errors.As(err, &usage):
		return c.misunderstood(string(usage), k)
	case err != nil:
		return c.refused(err)
	}
	return 0
}

// usageError is a command that parsed and still makes no sense. Its text is one
// plain sentence.
type usageError string

func (e usageError) Error() string { return string(e) }

func usagef(format string, args ...any) error { return usageError(fmt.Sprintf(format, args...)) }

// parsed is how far the command line was understood.
func parsed(err error) *kong.Context {
	var p *kong.ParseError
	if errors.As(err, &p) {
		return p.Context
	}
	return nil
}

// misunderstood says what was not understood and where to read more.
func (c console) misunderstood(what string, k *kong.Context) int {
	command := "reeve"
	if k != nil && k.Selected() != nil {
		command = k.Selected().FullPath()
	}
	fmt.Fprintf(c.err, "reeve: %s\nSee %s --help.\n", visibleLine(what), command)
	return exitUsage
}

// onCommandLine says whether a flag was given as one, and not by the environment.
func onCommandLine(k *kong.Context, name string) bool {
	for _, p := range k.Path {
		if p.Flag != nil && p.Flag.Name == name {
			return true
		}
	}
	return false
}
