package strict

import "github.com/go-json-experiment/json/jsontext"

// Discard is the type of a field whose value is accepted whatever its JSON type,
// and thrown away. The text around it is still checked as a whole.
type Discard struct{}

// UnmarshalJSONFrom reads one value of any type and keeps nothing of it.
func (*Discard) UnmarshalJSONFrom(d *jsontext.Decoder) error { return d.SkipValue() }

// MarshalJSON writes null: there is nothing left to write.
func (Discard) MarshalJSON() ([]byte, error) { return []byte("null"), nil }

// JSONSchema describes the value: any at all.
func (Discard) JSONSchema() map[string]any { return map[string]any{} }
