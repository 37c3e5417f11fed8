package mcpadapter

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

const (
	// lineBuffer is how much of the input is looked at at a time, in bytes.
	lineBuffer = 64 << 10
	// lineEnd is the longest end that a line may have: CR LF.
	lineEnd = 2
)

// line is one line of the input without its end. tooLong is set instead of text
// where there was more of it than may be kept.
type line struct {
	text    []byte
	tooLong *idFinder
}

func (l line) blank() bool { return l.tooLong == nil && len(bytes.Trim(l.text, " \t\r")) == 0 }

// lineReader cuts the input into lines, and keeps no more of one than the limit:
// what is longer goes by, and leaves behind whom it was from.
type lineReader struct {
	in    *bufio.Reader
	limit int
}

func newLineReader(in io.Reader, limit int) *lineReader {
	return &lineReader{in: bufio.NewReaderSize(in, lineBuffer), limit: limit}
}

// next is the next line. The last one needs no end. io.EOF comes alone, as every
// error does: what was read of a line before an error is given first.
func (r *lineReader) next() (line, error) {
	var l line
	for {
		part, err := r.in.ReadSlice('\n')
		l.add(part, r.limit+lineEnd)
		switch {
		case errors.Is(err, bufio.ErrBufferFull):
			continue
		case err != nil && l.tooLong == nil && len(l.text) == 0:
			return line{}, err
		}
		// An error that came with a part of a line comes again with the next read.
		l.end(r.limit)
		return l, nil
	}
}

func (l *line) add(part []byte, limit int) {
	if l.tooLong == nil && len(l.text)+len(part) > limit {
		l.givenUp()
	}
	if l.tooLong != nil {
		l.tooLong.look(part)
		return
	}
	l.text = append(l.text, part...)
}

func (l *line) end(limit int) {
	if l.tooLong != nil {
		return
	}
	l.text = bytes.TrimSuffix(bytes.TrimSuffix(l.text, []byte("\n")), []byte("\r"))
	if len(l.text) > limit {
		l.givenUp()
	}
}

// givenUp keeps of a line only whom it was from.
func (l *line) givenUp() {
	l.tooLong = &idFinder{}
	l.tooLong.look(l.text)
	l.text = nil
}

// lineWriter writes whole lines, one at a time, until one could not be written.
type lineWriter struct {
	turn   chan struct{} // held by whoever writes
	out    io.Writer
	err    error
	broken chan struct{} // closed once err is set
}

func newLineWriter(out io.Writer) *lineWriter {
	return &lineWriter{turn: make(chan struct{}, 1), out: out, broken: make(chan struct{})}
}

// write writes text, which holds no line end, as one line.
func (w *lineWriter) write(text []byte) {
	w.turn <- struct{}{}
	defer func() { <-w.turn }()
	if w.err != nil {
		return
	}
	if _, w.err = w.out.Write(append(text, '\n')); w.err != nil {
		close(w.broken)
	}
}

// fault is why nothing can be written any more, or nil.
func (w *lineWriter) fault() error {
	select {
	case <-w.broken:
		return w.err
	default:
		return nil
	}
}
