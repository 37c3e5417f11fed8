package gate

import (
	"errors"
	"math/rand/v2"
	"testing"
	"time"
)

// cents makes a pointer, as JSON would.
func cents(c Cents) *Cents { return &c }

// mustLoad compiles a policy that is meant to be right.
func mustLoad(t testing.TB, text string) *Policy {
	t.Helper()
	p, err := LoadPolicy("test.yaml", []byte(text))
	if err != nil {
		t.Fatalf("the policy does not load:\n%v", err)
	}
	return p
}

// seeded returns random numbers whose seed is printed when the test fails.
func seeded(t testing.TB) *rand.Rand {
	t.Helper()
	seed := uint64(time.Now().UnixNano())
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("seed %d", seed)
		}
	})
	t.Logf("seed %d", seed)
	return rand.New(rand.NewPCG(seed, 0))
}

// codeOf returns the code of the first field error in err.
func codeOf(err error) Code {
	if ferr, ok := errors.AsType[*FieldError](err); ok {
		return ferr.Code
	}
	return ""
}

// atHome are facts that leave nothing open.
func atHome() Facts {
	return Facts{
		Now:       time.Date(2026, 3, 3, 12, 0, 0, 0, time.UTC),
		Zone:      time.UTC,
		Inside:    []string{"own.example", "me@mail.example"},
		Currency:  "USD",
		Principal: "agent-1",
	}
}

// expiry is none, or a few of the ways to state one.
func (r random) expiry() time.Duration {
	return time.Duration([]int{0, 0, 2, 12, 48}[r.IntN(5)]) * time.Hour
}
