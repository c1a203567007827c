package periodic

import (
	"math/bits"
	"time"
)

// searchYears is how far ahead a date is looked for. The rarest, 29 February,
// is 8 years away from 2096 to 2104; four more years leave room for one that
// falls into a skipped gap.
const searchYears = 12

// A timetable is what a cron text says, before any zone: wall times, or an
// interval.
type timetable struct {
	calendar
	every   int64 // seconds; 0 for a calendar
	elapsed bool  // hour or minute is open: the schedule follows elapsed time
}

// A calendar is a set of wall times, one bit per value of each field. A wall
// time is what a clock and a calendar on the wall show, in seconds since
// 1970-01-01 00:00 on that same wall. It knows no zone, so that its arithmetic
// has no exceptions.
type calendar struct {
	minute, hour, dom, month, dow uint64
	either                        bool // dom or dow suffices; else both must match
}

// next returns the first wall time of the calendar at or after wall.
func (c calendar) next(wall int64) (int64, bool) {
	t := time.Unix(wall+59, 0).UTC() // a second past the minute belongs to the next one
	year, month, day := t.Date()
	midnight, ok := c.date(year, month, day)
	if ok && midnight <= t.Unix() { // today
		if clock, ok := c.clock(t.Hour(), t.Minute()); ok {
			return midnight + clock, true
		}
		midnight, ok = c.date(year, month, day+1)
	}
	clock, _ := c.clock(0, 0)
	return midnight + clock, ok
}

// clock returns the first time of day at or after hour:minute, in seconds.
func (c calendar) clock(hour, minute int) (int64, bool) {
	if m, ok := from(c.minute, minute); ok && c.hour>>hour&1 == 1 {
		return int64(hour*3600 + m*60), true
	}
	h, ok := from(c.hour, hour+1)
	m, _ := from(c.minute, 0)
	return int64(h*3600 + m*60), ok
}

// date returns the midnight of the first date at or after the given one. A day
// past the month's end is the next month's first.
func (c calendar) date(year int, month time.Month, day int) (int64, bool) {
	for last := year + searchYears; year <= last; day = 1 {
		if c.month>>month&1 == 1 {
			first := time.Date(year, month, 1, 0, 0, 0, 0, time.UTC)
			if d, ok := from(c.days(first), day); ok {
				return first.Unix() + int64(d-1)*86400, true
			}
		}
		if month++; month > time.December {
			year, month = year+1, time.January
		}
	}
	return 0, false
}

// days is the set of matching days, 1 to 31, in the month that starts at first.
func (c calendar) days(first time.Time) uint64 {
	const weeks = 1 | 1<<7 | 1<<14 | 1<<21 | 1<<28
	start := int(first.Weekday())
	week := (c.dow>>start | c.dow<<(7-start)) & 0x7f // bit n: n days after the first
	byWeekday := week * weeks << 1
	length := first.AddDate(0, 1, -1).Day()
	inMonth := uint64(1)<<(length+1) - 2
	if c.either {
		return (c.dom | byWeekday) & inMonth
	}
	return c.dom & byWeekday & inMonth
}

// from returns the smallest value of the set that is at least low.
func from(set uint64, low int) (int, bool) {
	rest := set >> low
	return low + bits.TrailingZeros64(rest), rest != 0
}
