package gate

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"strings"
	"unicode/utf8"

	"github.com/go-json-experiment/json/jsontext"
	"go.yaml.in/yaml/v4"
)

const (
	// MaxPolicySize bounds a policy file, in bytes.
	MaxPolicySize = 1 << 20
	// maxPolicyDepth bounds its nesting. The deepest real path has 5 levels.
	maxPolicyDepth = 16
	// formatVersion is the only version of the file format so far.
	formatVersion = 1
)

// ParsePolicy reads a policy file in YAML, or in JSON where its first character
// is a brace. The name is used in messages only; nothing is opened.
//
// The reading is strict. Unknown and repeated keys, tabs outside of JSON,
// anchors, aliases, tags, a second document, more than [MaxPolicySize] bytes,
// invalid UTF-8, and values of a wrong kind are refused. The error is
// [PolicyErrors]: each member has file, line, column and, inside of a rule, its
// id. What the rules mean together is checked by [Source.Compile].
func ParsePolicy(file string, src []byte) (*Source, error) {
	d := &decoder{file: file}
	root := d.tree(src)
	if root == nil {
		return nil, d.errs
	}
	d.wholesome(root, 0)
	if len(d.errs) > 0 {
		return nil, d.errs
	}
	source := d.source(root)
	if len(d.errs) > 0 {
		return nil, d.errs
	}
	return source, nil
}

// tree turns the text into nodes with positions, or reports why it cannot.
func (d *decoder) tree(src []byte) *yaml.Node {
	if len(src) > MaxPolicySize {
		d.failAt(0, 0, "the file is larger than %d bytes", MaxPolicySize)
		return nil
	}
	if !utf8.Valid(src) {
		d.failAt(0, 0, "the file is not valid UTF-8")
		return nil
	}
	if trimmed := trimJSONSpace(src); len(trimmed) > 0 && trimmed[0] == '{' {
		src = d.asYAML(src)
	} else {
		d.refuseTabs(src)
	}
	if len(d.errs) > 0 {
		return nil
	}
	return d.document(src)
}

// asYAML checks JSON strictly. JSON is YAML then, but for its tabs, which
// valid JSON only has between tokens, and for surrogate pairs in escapes. Both
// are replaced without moving a line.
func (d *decoder) asYAML(src []byte) []byte {
	dec := jsontext.NewDecoder(bytes.NewReader(src))
	_, err := dec.ReadValue()
	if err == nil {
		if _, err = dec.ReadToken(); errors.Is(err, io.EOF) {
			return bytes.ReplaceAll(unpair(src), []byte("\t"), []byte(" "))
		}
		d.failAtOffset(src, dec.InputOffset(), "there is something behind the JSON object")
		return nil
	}
	offset, message := int64(len(src)), "the file is not valid JSON"
	if syntactic, ok := errors.AsType[*jsontext.SyntacticError](err); ok {
		offset = syntactic.ByteOffset
		message = "the file is not valid JSON: " + syntactic.Err.Error()
	}
	d.failAtOffset(src, offset, "%s", message)
	return nil
}

// unpair writes the surrogate pairs of \u escapes as the characters they mean,
// since YAML has no such pairs. The text is known to be valid JSON.
func unpair(src []byte) []byte {
	var out []byte
	for i := 0; i < len(src); {
		if src[i] != '\\' {
			out = append(out, src[i])
			i++
			continue
		}
		if i+12 <= len(src) && src[i+1] == 'u' && (src[i+2]|0x20) == 'd' && bytes.HasPrefix(src[i+6:], []byte(`\u`)) {
			if text, err := jsontext.AppendUnquote(nil, `"`+string(src[i:i+12])+`"`); err == nil && utf8.RuneCount(text) == 1 {
				out = append(out, text...)
				i += 12
				continue
			}
		}
		out = append(out, src[i], src[i+1])
		i += 2
	}
	return out
}

func (d *decoder) refuseTabs(src []byte) {
	if at := bytes.IndexByte(src, '\t'); at >= 0 {
		d.failAtOffset(src, int64(at), "there is a tab; indent with spaces")
	}
}

// document reads exactly one YAML document.
func (d *decoder) document(src []byte) *yaml.Node {
	loader, err := yaml.NewLoader(bytes.NewReader(src))
	if err != nil {
		d.failAt(0, 0, "%v", err)
		return nil
	}
	var doc, second yaml.Node
	if err := loader.Load(&doc); err != nil {
		d.syntax(err)
		return nil
	}
	switch err := loader.Load(&second); {
	case err == nil:
		d.fail(&second, "there is a second document; a policy file holds one")
		return nil
	case !errors.Is(err, io.EOF):
		d.syntax(err)
		return nil
	}
	if doc.Kind != yaml.DocumentNode || len(doc.Content) != 1 {
		d.failAt(0, 0, "the file is empty")
		return nil
	}
	return doc.Content[0]
}

// syntax passes on what the YAML reader says, with its position.
func (d *decoder) syntax(err error) {
	if errors.Is(err, io.EOF) {
		d.failAt(0, 0, "the file is empty")
		return
	}
	if load, ok := errors.AsType[*yaml.LoadError](err); ok {
		d.failAt(load.Mark.Line, load.Mark.Column, "not valid YAML: %s", load.Message)
		return
	}
	d.failAt(0, 0, "not valid YAML: %v", err)
}

// wholesome refuses what makes a file mean something else than it shows.
func (d *decoder) wholesome(n *yaml.Node, depth int) {
	switch {
	case depth > maxPolicyDepth:
		d.fail(n, "the file nests too deep")
		return
	case n.Kind == yaml.AliasNode:
		d.fail(n, "aliases are refused; write the value out")
		return
	case n.Anchor != "":
		d.fail(n, "anchors are refused; write the value out")
	case n.Style&yaml.TaggedStyle != 0:
		d.fail(n, "tags are refused; write the plain value")
	}
	for _, child := range n.Content {
		d.wholesome(child, depth+1)
	}
}

// decoder collects faults, so that a person fixes a file in one go.
type decoder struct {
	file string
	rule string // id of the rule that is being read
	errs PolicyErrors
}

func (d *decoder) fail(n *yaml.Node, format string, args ...any) {
	d.failAt(n.Line, n.Column, format, args...)
}

func (d *decoder) failAt(line, column int, format string, args ...any) {
	d.errs = append(d.errs, &PolicyError{
		File: d.file, Line: line, Column: column, Rule: d.rule, Message: Redact(fmt.Sprintf(format, args...)),
	})
}

func (d *decoder) failAtOffset(src []byte, offset int64, format string, args ...any) {
	before := string(src[:min(offset, int64(len(src)))])
	column := len(before) - (strings.LastIndexByte(before, '\n') + 1) + 1
	d.failAt(strings.Count(before, "\n")+1, column, format, args...)
}

func (d *decoder) pos(n *yaml.Node) Pos { return Pos{File: d.file, Line: n.Line, Column: n.Column} }
