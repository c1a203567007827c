package periodic

import (
	"fmt"
	"time"
)

// At names the slot at the instant t, which it does not check: see
// [Schedule.Includes].
func (s Schedule) At(t time.Time) Slot {
	return Slot{Name: s.Name, Key: s.key(t), At: t.UTC()}
}

func (s Schedule) key(t time.Time) string {
	local := t.In(s.location)
	switch s.Key {
	case Date:
		return local.Format("2006-01-02")
	case ISOWeek:
		// The ISO year, not the calendar's: 2027-01-03 is in 2026-W53.
		year, week := local.ISOWeek()
		return fmt.Sprintf("%04d-W%02d", year, week)
	case Month:
		return local.Format("2006-01")
	default:
		return t.UTC().Format(time.RFC3339)
	}
}

// ForKey returns the slot that the key names. It refuses a key that is written
// in another format than the schedule's, that is no date ("2025-W53"), that
// has no slot, or that has several.
func (s Schedule) ForKey(key string) (Slot, error) {
	first, last, err := s.Key.period(key)
	if err != nil {
		return Slot{}, fmt.Errorf("schedule %q: key %.40q: %w", s.Name, key, err)
	}
	if s.Key == Instant {
		if !s.Includes(first) {
			return Slot{}, fmt.Errorf("schedule %q: key %q: not a slot of %q in %s, the next one is %q", s.Name, key, s.Cron, s.Zone, s.key(s.Next(first)))
		}
		return s.At(first), nil
	}
	var found Slot
	// The period is local; two days on either side hold it in any zone.
	for slot := range s.Slots(first.AddDate(0, 0, -2), last.AddDate(0, 0, 2)) {
		switch {
		case slot.Key != key:
		case found.Key == key:
			return Slot{}, s.collision(found, slot)
		default:
			found = slot
		}
	}
	if found.Key != key {
		return Slot{}, fmt.Errorf("schedule %q: key %q: %q in %s has no slot then, the next one is %q", s.Name, key, s.Cron, s.Zone, s.key(s.Next(last)))
	}
	return found, nil
}

// period parses a key to the first and the last midnight that it covers, as if
// UTC were the zone.
func (f KeyFormat) period(key string) (first, last time.Time, err error) {
	layout, days, months := time.RFC3339, 0, 0
	switch f {
	case Date:
		layout, days = "2006-01-02", 1
	case Month:
		layout, months = "2006-01", 1
	case ISOWeek:
		return isoWeek(key)
	case Instant: // the layout as it is
	}
	first, err = time.Parse(layout, key)
	if err != nil || first.UTC().Format(layout) != key {
		return first, last, fmt.Errorf("write it like %q", time.Date(2026, 5, 29, 0, 0, 0, 0, time.UTC).Format(layout))
	}
	return first, first.AddDate(0, months, days), nil
}

func isoWeek(key string) (first, last time.Time, err error) {
	var year, week int
	if _, err := fmt.Sscanf(key, "%4d-W%2d", &year, &week); err != nil || fmt.Sprintf("%04d-W%02d", year, week) != key {
		return first, last, fmt.Errorf("write it like %q", "2026-W22")
	}
	// 4 January is always in week 1.
	fourth := time.Date(year, 1, 4, 0, 0, 0, 0, time.UTC)
	monday := fourth.AddDate(0, 0, -int(fourth.Weekday()+6)%7+7*(week-1))
	if y, w := monday.ISOWeek(); y != year || w != week {
		_, weeks := time.Date(year, 12, 28, 0, 0, 0, 0, time.UTC).ISOWeek()
		return first, last, fmt.Errorf("%d has the weeks 01 to %d", year, weeks)
	}
	return monday, monday.AddDate(0, 0, 7), nil
}

// CheckKeys returns an error that names two slots with one key, if there are
// such among the next 1,000 after from or those of 5 years, whichever ends
// first. The claim would take the second of them for done.
func (s Schedule) CheckKeys(from time.Time) error {
	if s.Key == Instant {
		return nil // slots never repeat an instant
	}
	seen := make(map[string]Slot)
	for slot := range s.Slots(from, from.AddDate(5, 0, 0)) {
		if other, ok := seen[slot.Key]; ok {
			return s.collision(other, slot)
		}
		if seen[slot.Key] = slot; len(seen) == 1000 {
			break
		}
	}
	return nil
}

func (s Schedule) collision(a, b Slot) error {
	return fmt.Errorf("schedule %q: key format %q gives %s and %s of %q the one key %q: use %q or a rarer cron",
		s.Name, s.Key, a.At.Format(time.RFC3339), b.At.Format(time.RFC3339), s.Cron, a.Key, Instant)
}
