package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/go-json-experiment/json/jsontext"
	"golang.org/x/term"
)

// A terminal breaks a row that is too long, and what comes after the break stands
// in the first column, where only our own words belong. So everything that
// somebody else wrote goes through a page: it breaks the rows itself, and each of
// them begins with our margin.

const (
	// margin stands before every row of a text; in a row that begins with the
	// name of a field, the same line stands further right.
	margin = "    │ "
	// usualWidth and usualHeight, in cells and rows, hold where the output is no
	// terminal, or one that does not say.
	usualWidth, usualHeight = 80, 24
	// narrowest is the least width, in cells, at which somebody is asked.
	narrowest = 20
	// roomy is the width, in cells, from which a field's name and its value share
	// a row.
	roomy = 40
)

// page writes for a person, on rows that fit.
type page struct {
	w             io.Writer
	width, height int
	rows          int // written so far
}

// newPage measures the terminal that w is, if it is one. $COLUMNS is not looked
// at: whoever sets it could make the rows too long.
func newPage(w io.Writer) *page {
	p := &page{w: w, width: usualWidth, height: usualHeight}
	f, ok := w.(*os.File)
	if !ok {
		return p
	}
	if columns, rows, err := term.GetSize(int(f.Fd())); err == nil && columns > 0 && rows > 0 {
		p.width, p.height = columns, rows
	}
	return p
}

// line writes one row as it stands.
func (p *page) line(row string) {
	fmt.Fprintln(p.w, row)
	p.rows++
}

// say writes a row of our own words. It may be broken by the terminal: nothing of
// it is somebody else's.
func (p *page) say(format string, args ...any) {
	text := fmt.Sprintf(format, args...)
	p.line(text)
	p.rows += len([]rune(text)) / p.width
}

// room is how many cells of a row are left beside a margin. The last column stays
// free: terminals differ in what they do once it is filled.
func (p *page) room(margin string) int {
	return max(2, p.width-1-cellsOf(margin))
}

func cellsOf(row string) (n int) {
	for _, r := range row {
		n += cells(r)
	}
	return n
}

// field writes a name and a value, unless there is nothing to say.
func (p *page) field(name, value string, m manner) {
	if value != "" {
		p.clusters(name, visible(value, m))
	}
}

// fieldf is field for a value that is put together.
func (p *page) fieldf(name, format string, args ...any) {
	p.field(name, fmt.Sprintf(format, args...), prose())
}

func (p *page) clusters(name string, value []cluster) {
	if p.width < roomy {
		p.say("  %s:", name)
		p.behind(margin, margin, wrap(value, p.room(margin)))
		return
	}
	const blank = "            │ " // as wide as a name
	p.behind(fmt.Sprintf("  %-10s│ ", name), blank, wrap(value, p.room(blank)))
}

// text writes a text of several lines under a heading that says how many rows it
// has, so that somebody knows how far to scroll back.
func (p *page) text(heading, s string, m manner) {
	p.under(heading, p.broken(strings.Split(s, "\n"), m))
}

// data writes JSON in the form that the digest covers, indented. The blanks before a
// line are ours: a string in JSON has no line break in it.
func (p *page) data(heading string, value jsontext.Value) {
	p.under(heading, p.indented(strings.Split(pretty(value), "\n")))
}

func (p *page) under(heading string, rows []string) {
	p.say("  %s, %s:", heading, counted(len(rows), "row"))
	p.behind(margin, margin, rows)
}

func (p *page) broken(lines []string, m manner) (rows []string) {
	for _, line := range lines {
		rows = append(rows, wrap(visible(line, m), p.room(margin))...)
	}
	return rows
}

func (p *page) indented(lines []string) (rows []string) {
	room := p.room(margin)
	for _, line := range lines {
		text := strings.TrimLeft(line, " ")
		blank := strings.Repeat(" ", min(len(line)-len(text), room/2))
		for _, row := range wrap(visible(text, exactly().watched().json()), room-len(blank)) {
			rows = append(rows, blank+row)
		}
	}
	return rows
}

func (p *page) behind(first, margin string, rows []string) {
	for i, row := range rows {
		if i == 0 {
			p.line(first + row)
		} else {
			p.line(margin + row)
		}
	}
}

// wrap breaks a line into rows of at most room cells: after a space where there is
// one in the row's second half. The rows put together again are the line.
func wrap(line []cluster, room int) []string {
	line = splitWide(line, room)
	var rows []string
	for len(line) > 0 {
		n := fitting(line, room)
		rows = append(rows, joined(line[:n]))
		line = line[n:]
	}
	if len(rows) == 0 {
		return []string{""}
	}
	return rows
}

// fitting is how many clusters the first row takes.
func fitting(line []cluster, room int) int {
	used, space := 0, 0
	for i, c := range line {
		if used += c.cells; used > room {
			if space > 0 {
				return space
			}
			return max(1, i)
		}
		if c.text == " " && used > room/2 {
			space = i + 1
		}
	}
	return len(line)
}

// splitWide takes apart what has no room in any row.
func splitWide(line []cluster, room int) []cluster {
	var out []cluster
	for _, c := range line {
		if c.cells <= room {
			out = append(out, c)
			continue
		}
		for _, r := range c.text {
			out = append(out, cluster{string(r), cells(r)})
		}
	}
	return out
}

// cut shortens a line to n cells, and shows that it did.
func cut(line []cluster, n int) []cluster {
	if wide(line) <= n {
		return line
	}
	used := 1 // for the sign that something is missing
	for i, c := range line {
		if used += c.cells; used > n {
			return append(line[:i:i], cluster{"…", 1})
		}
	}
	return line
}

func wide(line []cluster) (n int) {
	for _, c := range line {
		n += c.cells
	}
	return n
}

// pretty indents the canonical form of JSON (RFC 8785). It has no escape but those that
// a string needs, so that whoever writes letters as escapes is read as well.
func pretty(data jsontext.Value) string {
	v := canonical(data)
	if err := v.Indent(jsontext.WithIndent("  ")); err != nil {
		return string(data)
	}
	return string(v)
}

// canonical is the form of JSON that a digest covers, or the JSON as it is where it has
// none.
func canonical(data jsontext.Value) jsontext.Value {
	v := data.Clone()
	if err := v.Canonicalize(); err != nil {
		return data.Clone()
	}
	return v
}

func counted(n int, what string) string {
	if n == 1 {
		return "1 " + what
	}
	return fmt.Sprintf("%d %ss", n, what)
}
