package auditlog

import (
	"bufio"
	"errors"
	"io"
	"slices"
)

// VerifyOptions says what is known of a log besides the file. Without any of it,
// Verify shows that the file is whole in itself, under keys that it names itself.
type VerifyOptions struct {
	Keys        []PublicKey // trusted keys: the log must be sealed by one of them, or hand over from or to it
	Checkpoints []string    // signed earlier: the log must be a continuation of each
	Origin      string      // which log it must be; "": any
}

// Report is what Verify found in a log that is whole.
type Report struct {
	Origin     string    `json:"origin"`
	Size       int64     `json:"size"`       // how many entries
	Root       string    `json:"root"`       // of their tree, in base64
	Key        PublicKey `json:"key"`        // the key that sealed it last
	Trusted    bool      `json:"trusted"`    // that a trusted key vouches for it
	Executions int64     `json:"executions"` // how many were shown to follow what allowed them
}

// maxLine bounds a line of an export. The longest that is ever written is far
// shorter.
const maxLine = 16 << 20

// Verify reads an export to its end and shows that it is whole: that every entry
// is one that was sealed, in its place, none is missing and none was added, that
// nothing else stands in the file, and that whatever was carried out follows a
// person's approval of exactly that, or the policy's leave. Its memory does not
// grow with the log, but for what stands open in it at one time.
//
// What differs is a *Problem, with the line. Any other error is the reader's.
func Verify(r io.Reader, opts *VerifyOptions) (Report, error) {
	v := &verifier{lines: lines{r: bufio.NewReaderSize(r, 1<<16)}, authority: authority{}}
	if opts != nil {
		v.opts = *opts
	}
	err := v.run()
	if err != nil {
		return Report{}, err
	}
	return v.report, nil
}

type verifier struct {
	opts      VerifyOptions
	lines     lines
	header    Header
	tree      checker
	authority authority
	account   int64 // of the first entry
	marks     []mark
	handovers int // how many entries that announce a key were met
	report    Report
	// The first execution that nothing allowed. It is said last: where rows are
	// missing, that is what is wrong.
	unauthorised *Problem
}

func (v *verifier) run() error {
	if err := v.readHeader(); err != nil {
		return err
	}
	for v.tree.size < v.header.Size {
		if err := v.readEntry(); err != nil {
			return err
		}
	}
	return v.readFooter()
}

func (v *verifier) readHeader() error {
	text, err := v.lines.next()
	if err != nil {
		return err
	}
	h := &v.header
	if err := parse(text, h); err != nil {
		return problem(1, ErrForm, "%s", err)
	}
	switch {
	case h.Version != formatVersion:
		return problem(1, ErrForm, "version %d of the format is not known here", h.Version)
	case h.Size < 1:
		return problem(1, ErrForm, "a log that was sealed has at least one row")
	case len(h.Keys) == 0 || len(h.Rotations) != len(h.Keys)-1:
		return problem(1, ErrForm, "%d keys and %d steps between them", len(h.Keys), len(h.Rotations))
	case v.opts.Origin != "" && v.opts.Origin != h.Origin:
		return problem(1, ErrOrigin, "it is the log %q, not %q", h.Origin, v.opts.Origin)
	}
	for i, k := range h.Keys {
		if _, err := ParsePublicKey(string(k)); err != nil {
			return problem(1, ErrForm, "%s", err)
		}
		if slices.Contains(h.Keys[:i], k) {
			return problem(1, ErrForm, "it names a key twice")
		}
		// What is trusted of one key goes over to the next by a step that it signed.
		trusted := slices.Contains(v.opts.Keys, k)
		v.report.Trusted = trusted || v.report.Trusted && h.Rotations[i-1] != ""
	}
	if len(v.opts.Keys) > 0 && !v.report.Trusted {
		return problem(1, ErrKey, "no key that you trust sealed it, or handed over to the one that did")
	}
	return v.readMarks()
}

// mark is a checkpoint that the tree must agree with when it has that size.
type mark struct {
	Checkpoint
	step int // the header's step between keys, from 1; 0: it came from elsewhere
}

// readMarks opens every checkpoint that is known before the rows are read.
func (v *verifier) readMarks() error {
	h, before := v.header, int64(0)
	for i, signed := range h.Rotations {
		if signed == "" {
			continue // a key was lost; nobody could sign
		}
		c, err := OpenCheckpoint(signed, h.Keys[i], h.Keys[i+1])
		if err != nil {
			return problem(1, ErrKey, "the step to key %d: %s", i+2, err)
		}
		if c.Origin != h.Origin || c.Size <= before || c.Size > h.Size {
			return problem(1, ErrForm, "the step to key %d does not fit into this log", i+2)
		}
		before = c.Size
		v.marks = append(v.marks, mark{c, i + 1})
	}
	for _, signed := range v.opts.Checkpoints {
		c, _, err := openCheckpoint(signed, h.Keys)
		if err != nil {
			return problem(0, ErrKey, "the earlier checkpoint: %s", err)
		}
		if c.Origin != h.Origin {
			return problem(0, ErrOrigin, "the earlier checkpoint is of the log %q, this is %q", c.Origin, h.Origin)
		}
		if c.Size > h.Size {
			return problem(0, ErrTruncated, "it had %d rows once, and has %d", c.Size, h.Size)
		}
		v.marks = append(v.marks, mark{c, 0})
	}
	slices.SortStableFunc(v.marks, func(a, b mark) int { return int(min(1, max(-1, a.Size-b.Size))) })
	return nil
}

func (v *verifier) readEntry() error {
	text, err := v.lines.next()
	if err != nil {
		return err
	}
	line := v.lines.line
	e, err := ParseEntry(text)
	if err != nil {
		if parse(text, &footer{}) == nil {
			return problem(line, ErrAltered, "the log ends after %d rows, and its first line says %d", v.tree.size, v.header.Size)
		}
		return problem(line, ErrForm, "%s", err)
	}
	if v.tree.size == 0 {
		v.account = e.Account
	}
	if e.Account != v.account || (e.Account == 0) != (v.header.Origin == Origin("")) {
		return problem(line, ErrOrigin, "the row belongs to another account's log")
	}
	if err := v.tree.append(text); err != nil {
		return err
	}
	if err := v.handover(e, line); err != nil {
		return err
	}
	if wrong := v.authority.follow(e); wrong != "" && v.unauthorised == nil {
		v.unauthorised = problem(line, ErrAuthority, "%s", wrong)
	}
	if e.isExecution() {
		v.report.Executions++
	}
	return v.meetMarks()
}

// handover holds an entry that announces a key to the step that the header has
// for it: without its step, or with another key, the log's keys are not its own.
func (v *verifier) handover(e Entry, line int64) error {
	next, ok := e.announces()
	if !ok {
		return nil
	}
	i := v.handovers
	v.handovers++
	if i >= len(v.header.Rotations) || v.header.Keys[i+1] != next || (v.header.Rotations[i] == "") != (e.Action == ActionReplace) {
		return problem(line, ErrKey, "the row announces a key that the first line does not have in this place")
	}
	return nil
}

func (v *verifier) meetMarks() error {
	for len(v.marks) > 0 && v.marks[0].Size == v.tree.size {
		m := v.marks[0]
		v.marks = v.marks[1:]
		root, err := v.tree.root()
		if err != nil {
			return err
		}
		switch {
		case root != m.Root && m.step == 0:
			return problem(0, ErrForked, "an earlier checkpoint says otherwise of the first %d rows", m.Size)
		case root != m.Root:
			return problem(1, ErrAltered, "the checkpoint of the step to key %d says otherwise of the first %d rows", m.step+1, m.Size)
		case m.step != 0 && m.step != v.handovers:
			return problem(v.lines.line, ErrKey, "a key was handed over without the row that announces it")
		}
	}
	return nil
}

func (v *verifier) readFooter() error {
	text, err := v.lines.next()
	if err != nil {
		return err
	}
	line := v.lines.line
	var last footer
	if err := parse(text, &last); err != nil {
		if _, row := ParseEntry(text); row == nil {
			return problem(line, ErrAltered, "there are more rows than the %d of the first line", v.header.Size)
		}
		return problem(line, ErrForm, "%s", err)
	}
	if v.handovers != len(v.header.Rotations) {
		return problem(1, ErrKey, "it names %d steps between keys, and the rows announce %d", len(v.header.Rotations), v.handovers)
	}
	key := v.header.Keys[len(v.header.Keys)-1]
	c, err := OpenCheckpoint(last.Checkpoint, key)
	if err != nil {
		return problem(line, ErrKey, "%s", err)
	}
	if c.Origin != v.header.Origin {
		return problem(line, ErrOrigin, "the checkpoint is of the log %q, the first line says %q", c.Origin, v.header.Origin)
	}
	root, err := v.tree.root()
	if err != nil {
		return err
	}
	if c.Size != v.tree.size || c.Root != root {
		return problem(line, ErrAltered, "the checkpoint vouches for %d rows, and these %d are not they: one was altered, removed, added or moved", c.Size, v.tree.size)
	}
	v.report.Origin, v.report.Size, v.report.Root, v.report.Key = c.Origin, c.Size, root.String(), key
	if text, err = v.lines.next(); err == nil {
		return problem(v.lines.line, ErrForm, "%d bytes follow the checkpoint, which is the last line", len(text)+1)
	}
	if !errors.Is(err, errEnd) {
		return err
	}
	if v.unauthorised != nil {
		return v.unauthorised
	}
	return nil
}

// lines reads whole lines, each ended by one line feed.
type lines struct {
	r    *bufio.Reader
	line int64
	buf  []byte
}

// errEnd is the end of the file where a line could begin.
var errEnd = &Problem{Kind: ErrForm, Why: "it ends without the checkpoint that every log ends with"}

// next gives the next line without its end. It is good until the call after it.
func (l *lines) next() ([]byte, error) {
	l.buf = l.buf[:0]
	l.line++
	for {
		part, err := l.r.ReadSlice('\n')
		l.buf = append(l.buf, part...)
		switch {
		case len(l.buf) > maxLine:
			return nil, problem(l.line, ErrForm, "the line is too long")
		case err == nil:
			return l.buf[:len(l.buf)-1], nil
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case errors.Is(err, io.EOF) && len(l.buf) == 0:
			return nil, errEnd
		case errors.Is(err, io.EOF):
			return nil, problem(l.line, ErrForm, "the line has no end")
		}
		return nil, err
	}
}
