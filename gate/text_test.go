package gate

import (
	"testing"
	"unicode"
)

// ignorable is Default_Ignorable_Code_Point as Unicode derives it.
func ignorable(r rune) bool {
	switch {
	case unicode.IsSpace(r), r >= 0xFFF9 && r <= 0xFFFB, r >= 0x13430 && r <= 0x13440, unicode.Is(unicode.Prepended_Concatenation_Mark, r):
		return false
	}
	return unicode.In(r, unicode.Other_Default_Ignorable_Code_Point, unicode.Cf, unicode.Variation_Selector)
}

// Every code point there is, between two letters: nothing that can be shown as nothing
// is let through, and nothing that a person sees is refused.
func TestWhatCannotBeSeenIsRefusedAndNothingElseIs(t *testing.T) {
	refused := 0
	for r := rune(0); r <= unicode.MaxRune; r++ {
		if r >= 0xD800 && r <= 0xDFFF {
			continue // no text holds half of a pair
		}
		want := ignorable(r) || unicode.In(r, unicode.Cc, unicode.Co, unicode.Zl, unicode.Zp, unicode.Noncharacter_Code_Point) ||
			unicode.Is(unicode.Cf, r) && !unicode.Is(unicode.Prepended_Concatenation_Mark, r)
		if got := CheckText("a"+string(r)+"b", Line) != nil; got != want {
			t.Errorf("U+%04X: refused %v, want %v", r, got, want)
		}
		if want {
			refused++
		}
	}
	if refused < 130_000 { // the private use planes alone
		t.Errorf("only %d are refused: the sweep is blind", refused)
	}
}

func TestHiddenCharactersThatWereOnceStoredAreRefused(t *testing.T) {
	for _, span := range [][2]rune{{0x1D173, 0x1D17A}, {0x1BCA0, 0x1BCA3}, {0x180B, 0x180F}, {0xFFF0, 0xFFFB}, {0x2060, 0x206F}, {0xE0000, 0xE0FFF}} {
		for r := span[0]; r <= span[1]; r++ {
			for _, kind := range []TextKind{Line, Block} {
				if CheckText("\u4E2D"+string(r)+"\u6587", kind) == nil {
					t.Errorf("U+%04X", r)
				}
			}
		}
	}
}

func TestASelectorStandsOnceAfterWhatItVaries(t *testing.T) {
	for text, good := range map[string]bool{
		"\u2764\uFE0F": true, "#\uFE0F\u20E3": true, "1\uFE0F\u20E3 ok": true, "\u203C\uFE0F": true, "\u845B\uFE00": true,
		"\U0001F3F3\uFE0F\u200D\U0001F308": true, "\U0001F469\u200D\u2764\uFE0F\u200D\U0001F468": true,
		"\uFE0F": false, "a\uFE0F": false, "a \uFE0F": false, "\u2764\uFE0F\uFE0F": false, "\u2764\uFE0F\uFE0E": false, "\u3000\uFE0F": false,
		"pay\uFE00pal": false, "\u2764\u200D\uFE0F": false, "\n\uFE0F": false,
	} {
		if got := CheckText(text, Block) == nil; got != good {
			t.Errorf("%+q: accepted %v", text, got)
		}
	}
}
