package auditlog

import "io"

// formatVersion is the "v" of an export's first line.
const formatVersion = 1

// Header is the first line of an export.
type Header struct {
	Keys      []PublicKey `json:"keys"`      // the keys that sealed this log, oldest first
	Origin    string      `json:"origin"`    // which log
	Rotations []string    `json:"rotations"` // for each step from a key to the next, a checkpoint that both signed; "": the key was lost
	Size      int64       `json:"size"`      // how many entries follow
	Version   int         `json:"v"`
}

// footer is the last line of an export.
type footer struct {
	Checkpoint string `json:"checkpoint"`
}

// WriteHeader writes the first line.
func WriteHeader(w io.Writer, h Header) error {
	h.Version = formatVersion
	return writeLine(w, h)
}

// WriteEntry writes the line of one entry.
func WriteEntry(w io.Writer, e Entry) error {
	text, err := e.Canonical()
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}

// WriteCheckpoint writes the last line.
func WriteCheckpoint(w io.Writer, signed string) error { return writeLine(w, footer{signed}) }

func writeLine(w io.Writer, v any) error {
	text, err := canonical(v)
	if err != nil {
		return err
	}
	_, err = w.Write(append(text, '\n'))
	return err
}
