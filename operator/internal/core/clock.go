package core

import (
	"fmt"
	"time"
	_ "time/tzdata" // a day belongs to the account's zone, also where the machine has no zone files
)

// Clock tells the time. Everything in reeve that needs the time asks one, so
// that tests can move it; only a lease is judged by the database's own clock.
type Clock interface{ Now() time.Time }

// SystemClock is the machine's clock.
type SystemClock struct{}

// Now is the machine's time in UTC.
func (SystemClock) Now() time.Time { return time.Now().UTC() }

// Micros is t as it is stored: whole microseconds since 1970 UTC.
func Micros(t time.Time) int64 { return t.UnixMicro() }

// FromMicros reads a stored time.
func FromMicros(us int64) time.Time { return time.UnixMicro(us).UTC() }

// Day is the local date, YYYY-MM-DD, of a moment in an account's zone. Days are
// compared as this text, so that one of 23 or 25 hours needs no special case.
func Day(t time.Time, zone *time.Location) string { return t.In(zone).Format(time.DateOnly) }

// LoadZone finds an IANA time zone by its exact name. "Local" is refused: what
// it means would depend on the machine.
func LoadZone(name string) (*time.Location, error) {
	if name == "" || name == "Local" {
		return nil, fmt.Errorf("time zone %q: give an IANA name such as UTC or Europe/Madrid", name)
	}
	zone, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("time zone %q is not known: give an IANA name such as UTC or Europe/Madrid", name)
	}
	return zone, nil
}
