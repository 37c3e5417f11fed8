package toollint

import (
	"bytes"
	"encoding/json"
	"fmt"
	"regexp"
	"slices"
	"strings"
)

// entry is all that a listing tells of a tool; a member beyond these is a fault.
type entry struct {
	Name         string          `json:"name"`
	Title        string          `json:"title"`
	Description  string          `json:"description"`
	InputSchema  json.RawMessage `json:"inputSchema"`
	OutputSchema json.RawMessage `json:"outputSchema"`
	Annotations  annotations     `json:"annotations"`
}

// annotations are pointers, for one that is left out means something: of a tool
// that says nothing clients must assume the worst.
type annotations struct {
	Title       *string `json:"title"`
	ReadOnly    *bool   `json:"readOnlyHint"`
	Destructive *bool   `json:"destructiveHint"`
	Idempotent  *bool   `json:"idempotentHint"`
	OpenWorld   *bool   `json:"openWorldHint"`
}

func decodeStrictly(raw []byte, into any) error {
	d := json.NewDecoder(bytes.NewReader(raw))
	d.DisallowUnknownFields()
	if err := d.Decode(into); err != nil {
		return fmt.Errorf("the entry is not of the form of a tool: %w", err)
	}
	return nil
}

var nameForm = regexp.MustCompile(`^[a-z][a-z0-9_]*$`)

// longestName leaves room for what hosts put before it: they stop at 64.
const longestName = 40

func (c *collector) name(name string) {
	c.want(nameForm.MatchString(name), "the name is not [a-z][a-z0-9_]*")
	c.want(len(name) <= longestName, "the name has %d characters, more than %d", len(name), longestName)
}

// What a description says, in a form that can be measured.
var (
	// whatFor: it begins with what the tool does, as in "Shows …" or "Records …".
	whatFor = regexp.MustCompile(`^[A-Z][a-z]+s `)
	// when: a sentence of its own says on which occasion it is to be used.
	when = regexp.MustCompile(`(^|[.;] )Use it (to|for|when|where|with|before|after|once) `)
	// whenNot: something says what it is not for, or must not be done with it.
	whenNot = regexp.MustCompile(`(^|[.;,:] )(Do not|Not for|It cannot|It never|not for|never) `)
)

const (
	shortestTitle, longestTitle             = 5, 60
	shortestDescription, longestDescription = 80, 1000
)

func (c *collector) words(e entry) {
	n := len(e.Title)
	c.want(n >= shortestTitle && n <= longestTitle && strings.TrimSpace(e.Title) == e.Title, "the title has %d characters, which is no title of a few words", n)
	n = len(e.Description)
	c.want(n >= shortestDescription && n <= longestDescription, "the description has %d characters, and should have %d to %d", n, shortestDescription, longestDescription)
	c.want(strings.HasSuffix(e.Description, "."), "the description ends within a sentence")
	c.want(whatFor.MatchString(e.Description) && !strings.HasPrefix(e.Description, "This "), "the description does not begin with what the tool does (Shows …, Records …)")
	c.want(when.MatchString(e.Description), "the description does not say when (Use it to …)")
	c.want(whenNot.MatchString(e.Description), "the description does not say when not (Do not …, Not for …, It never …)")
}

func (c *collector) annotations(e entry, class string) {
	a := e.Annotations
	c.want(a.Title != nil && *a.Title == e.Title, "annotations.title is not the title")
	for name, hint := range map[string]*bool{"readOnlyHint": a.ReadOnly, "destructiveHint": a.Destructive, "idempotentHint": a.Idempotent, "openWorldHint": a.OpenWorld} {
		if hint == nil {
			c.say("%s is not said", name)
			return
		}
	}
	c.want(slices.Contains([]string{"read", "write", "gated", "gate", "spend", "brake"}, class), "there is no class %q", class)
	c.want(*a.ReadOnly == (class == "read"), "readOnlyHint is %v of the class %s", *a.ReadOnly, class)
	c.want(*a.OpenWorld == (class == "spend"), "openWorldHint is %v of the class %s: only what spends reaches outside by itself", *a.OpenWorld, class)
	switch class {
	case "read":
		c.want(!*a.Destructive && *a.Idempotent, "a read destroys nothing, and again it does nothing more")
	case "gate":
		c.want(!*a.Destructive, "what only records an intent destroys nothing")
	case "spend":
		c.want(*a.Destructive, "what is spent cannot be taken back")
	}
}
