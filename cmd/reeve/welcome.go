package main

import (
	"context"
	"fmt"
	"io"
	"strings"

	"github.com/reeve-go/reeve/operator"
	"github.com/reeve-go/reeve/operator/powers"
)

// install makes the first account with a credential for an agent, which may call
// every tool of the operator's toolset, and one for its owner, who may do every
// act. made is false where somebody was here before.
func install(ctx context.Context, op *operator.Operator, s *powers.Schedule, in operator.Initial) (operator.Installed, bool, error) {
	in.AgentScopes, in.OwnerScopes = s.AgentScopes(powers.ToolsetOperator), s.OwnerScopes()
	return op.Install(ctx, in)
}

// newcomer is what the first words to a new person have to name.
type newcomer struct {
	url, toolPrefix string
	inbox           string // the command that shows what waits
	serving         bool
}

const firstWords = `This is a new reeve. It made two credentials, which are shown now and never again:

  agent    %[1]s
           for the program that works for you
  person   %[2]s
           for you: it approves. Keep it from every agent.

Try it as the agent would%[3]s:

  curl -s %[4]s/mcp \
    -H 'Authorization: Bearer %[1]s' \
    -H 'Content-Type: application/json' -H 'Accept: application/json' \
    -d '{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"%[5]soperator_record_action_intent","arguments":{"action":{"type":"spend","title":"Annual plan renewal","amount_cents":4900}}}}'

Add it to Claude Code:

  %[6]s

See what waits for you, and decide it (it asks for the person's credential):

  %[7]s

`

// welcome prints the first words, with both credentials.
func welcome(w io.Writer, made operator.Installed, n newcomer) error {
	once := ""
	if !n.serving {
		once = `, once "reeve serve" runs`
	}
	_, err := fmt.Fprintf(w, firstWords, made.Agent.Token, made.Person.Token, once, n.url, n.toolPrefix, claudeCode(n.url, made.Agent.Token), n.inbox)
	return err
}

// claudeCode is the line that adds a server to Claude Code.
func claudeCode(url, token string) string {
	return `claude mcp add --transport http reeve ` + url + `/mcp --header "Authorization: Bearer ` + token + `"`
}

// inboxCommand is how to look at what waits in the same database. A URL is not
// repeated: it may hold a password.
func (d database) inboxCommand(where string) string {
	switch where {
	case d.DatabaseURL:
		return "REEVE_DATABASE_URL=… reeve inbox"
	case defaultDir:
		return "reeve inbox"
	}
	return "reeve inbox --dir " + shellQuoted(where)
}

// shellQuoted makes a text one word of a shell's.
func shellQuoted(s string) string {
	if strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_./") == "" && s != "" {
		return s
	}
	return "'" + strings.ReplaceAll(s, "'", `'\''`) + "'"
}
