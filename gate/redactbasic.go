package gate

import (
	"encoding/base64"
	"strings"
)

// holdsColon reports whether a text is base64 of "user:password" (RFC 7617 §2).
// Only the padded and the bare form of the standard alphabet occur there.
func holdsColon(s string) bool {
	if len(s) < 8 {
		return false
	}
	plain, err := base64.RawStdEncoding.DecodeString(strings.TrimRight(s, "="))
	if err != nil {
		return false
	}
	text := string(plain)
	for i := range len(text) {
		if text[i] < ' ' || text[i] == 0x7F {
			return false
		}
	}
	return strings.Contains(text, ":")
}
