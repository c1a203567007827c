package periodic

import (
	"fmt"
	"iter"
	"time"
)

// A Schedule is a parsed [Definition]: the set of its slots. It is a value,
// pure, and safe for concurrent use. Only [Parse] makes one; the zero value
// is of no use.
//
// Slots are whole seconds in UTC, strictly increasing, none twice, in the years
// 1 to 9999. They depend on the definition and the zone data alone, never on a
// clock, so every replica with the same zone data names the same ones.
type Schedule struct {
	Name string
	Definition
	timetable
	location *time.Location
}

const (
	secondsPerDay = 24 * 60 * 60
	horizon       = searchYears * 366 * secondsPerDay // seconds within which the next slot lies, if there is one
	minUnix       = -62135596800                      // 0001-01-01T00:00:00Z, the zero time, which means "none"
	maxUnix       = 253402300799                      // 9999-12-31T23:59:59Z: keys and JSON have four-digit years
)

// Next returns the first slot strictly after t, in UTC; the zero time if there
// is none before the year 10000.
func (s Schedule) Next(t time.Time) time.Time {
	after := max(t.Unix(), minUnix)
	unix, ok := int64(0), false
	switch {
	case after >= maxUnix:
	case s.every > 0:
		unix, ok = after-mod(after, s.every)+s.every, true
	default:
		unix, ok = s.nextOnWall(after)
	}
	if !ok || unix > maxUnix {
		return time.Time{}
	}
	return time.Unix(unix, 0).UTC()
}

// mod is the remainder that is never negative, so that an interval keeps its
// beat across 1970.
func mod(a, b int64) int64 { return (a%b + b) % b }

// Latest returns the latest slot at or before t; false if there is none in the
// twelve years before t.
func (s Schedule) Latest(t time.Time) (Slot, bool) {
	// Next is the only walk; going back is a search for the last x whose Next
	// is not past t. So the two directions cannot disagree.
	isDue := func(x int64) (int64, bool) {
		next := s.Next(time.Unix(x, 0))
		return next.Unix(), !next.IsZero() && !next.After(t)
	}
	low, high, due := int64(0), t.Unix(), false
	for shift := 22; !due && shift >= 0; shift -= 2 { // 90 seconds, 6 minutes ... 12 years
		low, due = isDue(high - horizon>>shift)
	}
	if !due {
		return Slot{}, false
	}
	for low < high {
		middle := low + (high-low)/2
		if next, due := isDue(middle); due {
			low = next
		} else {
			high = middle
		}
	}
	return s.At(time.Unix(low, 0)), true
}

// Includes says whether t is exactly a slot of the schedule.
func (s Schedule) Includes(t time.Time) bool {
	return s.Next(t.Add(-1)).Equal(t)
}

// Slots yields the slots in (after, upTo], oldest first.
func (s Schedule) Slots(after, upTo time.Time) iter.Seq[Slot] {
	return func(yield func(Slot) bool) {
		for t := s.Next(after); !t.IsZero() && !t.After(upTo); t = s.Next(t) {
			if !yield(s.At(t)) {
				return
			}
		}
	}
}

// Warnings says, one line each, what is legal but often not meant. It is for
// people: the schedule works as documented all the same.
func (s Schedule) Warnings() []string {
	var warnings []string
	if s.either {
		warnings = append(warnings, fmt.Sprintf("schedule %q: cron %q: day of month and day of week are both restricted, so either is enough", s.Name, s.Cron))
	}
	if s.elapsed && s.Fold != BothInFold {
		warnings = append(warnings, fmt.Sprintf("schedule %q: cron %q: fold %q leaves out slots while the clock repeats an hour", s.Name, s.Cron, s.Fold))
	}
	return warnings
}
