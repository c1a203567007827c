package periodic

import "time"

// nextOnWall returns the first instant after the given one that the wall times
// of the calendar name in the schedule's zone. Both are Unix seconds.
//
// A zone is a row of spans with one offset each: within a span, wall time is
// the instant plus the offset, and nothing else. So only the seams need a rule.
// A span from start to end, with offset o, owns the wall times [first, last),
// and a wall time w names the instant max(w-o, start):
//
//	seam at start    first           so that the span
//	gap,  run        start + before  owns the skipped times, all clamped to start
//	gap,  skip       start + o       does not
//	fold, first      start + before  leaves out the repeated times
//	fold, second     start + o       owns them,
//	fold, both       start + o       ... and so does the span before
//
// last is end + o, except that for second the span gives the times that are
// about to be repeated to the one behind it: end + the offset there.
func (s Schedule) nextOnWall(after int64) (int64, bool) {
	// Two days back, the seam at the span's own start no longer matters: no
	// zone has ever jumped further than one (Samoa, Manila, Alaska).
	start := after - 2*secondsPerDay
	offset, end := s.spanAt(start)
	before := offset
	for start < after+horizon {
		behind, endBehind := s.spanAt(end)
		first, last := start+offset, end+offset
		if offset > before && s.Gap == RunAfterGap || offset < before && s.Fold == FirstInFold {
			first = start + before
		}
		if s.Fold == SecondInFold {
			last = end + min(offset, behind)
		}
		if after >= start {
			first = max(first, after+1+offset)
		}
		if first < last {
			wall, ok := s.calendar.next(first)
			if !ok {
				return 0, false
			}
			if wall < last {
				return max(wall-offset, start), true
			}
		}
		before, start = offset, end
		offset, end = behind, endBehind
	}
	return 0, false
}

// spanAt returns the zone's offset at the instant, in seconds east of UTC, and
// an instant up to which the offset holds.
func (s Schedule) spanAt(unix int64) (offset, end int64) {
	t := time.Unix(unix, 0).In(s.location)
	_, seconds := t.Zone()
	_, bound := t.ZoneBounds()
	switch {
	case bound.IsZero():
		end = 2 * maxUnix
	case bound.Unix() <= unix:
		// Where a zone goes by its rule and not by a table, Go ends every year
		// after 365 days: on 31 December of a leap year the bound is in the past
		// (golang/go#81583), and a walk that trusts it never ends.
		end = unix - mod(unix, secondsPerDay) + secondsPerDay
	default:
		end = bound.Unix()
	}
	return int64(seconds), end
}
