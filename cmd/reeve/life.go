package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"
)

// life is a length of time in days or in Go's units: 90d, 12h, 45m.
type life time.Duration

// UnmarshalText reads a positive length.
func (l *life) UnmarshalText(text []byte) error {
	s := string(text)
	d, err := time.ParseDuration(s)
	if days, ok := strings.CutSuffix(s, "d"); ok {
		var n uint16
		n, err = parseDays(days)
		d = time.Duration(n) * 24 * time.Hour
	}
	if err != nil || d <= 0 {
		return fmt.Errorf("%q is no length of time: write 90d, 12h or 45m", s)
	}
	*l = life(d)
	return nil
}

func parseDays(s string) (uint16, error) {
	n, err := strconv.ParseUint(s, 10, 16)
	return uint16(n), err
}

// inWords writes how long something still lasts, in its two largest units.
func inWords(d time.Duration) string {
	switch {
	case d <= 0:
		return "no time"
	case d < time.Minute:
		return fmt.Sprintf("%ds", d/time.Second)
	case d < time.Hour:
		return fmt.Sprintf("%dm %ds", d/time.Minute, d%time.Minute/time.Second)
	case d < 48*time.Hour:
		return fmt.Sprintf("%dh %dm", d/time.Hour, d%time.Hour/time.Minute)
	}
	return fmt.Sprintf("%dd %dh", d/(24*time.Hour), d%(24*time.Hour)/time.Hour)
}
