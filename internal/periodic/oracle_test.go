package periodic_test

import (
	"cmp"
	"math/rand/v2"
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
)

// The oracle looks at every minute of UTC, writes down what the wall shows,
// and reads the rule off that record. It shares nothing with the schedule's
// walk along the zone's spans.

// A record is what the wall showed: for every wall minute its instants, and the
// first instant at which the wall had passed it.
type record struct {
	from, to time.Time // instants
	shown    map[int64][]time.Time
	walls    []int64 // every wall minute between the first and the last shown
	passed   map[int64]time.Time
}

func wallMinute(t time.Time) int64 {
	return time.Date(t.Year(), t.Month(), t.Day(), t.Hour(), t.Minute(), 0, 0, time.UTC).Unix() / 60
}

func observe(zone *time.Location, from, to time.Time) record {
	rec := record{from: from, to: to, shown: map[int64][]time.Time{}, passed: map[int64]time.Time{}}
	newest := wallMinute(from.In(zone)) - 1
	for u := from; !u.After(to); u = u.Add(time.Minute) {
		wall := wallMinute(u.In(zone))
		rec.shown[wall] = append(rec.shown[wall], u)
		for ; newest < wall; newest++ {
			rec.walls = append(rec.walls, newest+1)
			rec.passed[newest+1] = u
		}
	}
	return rec
}

func (rec record) slots(e expression, gap periodic.Gap, fold periodic.Fold) []time.Time {
	found := []time.Time{}
	for _, wall := range rec.walls {
		if !e.matches(time.Unix(wall*60, 0).UTC()) {
			continue
		}
		instants := rec.shown[wall]
		switch {
		case len(instants) == 0 && gap == periodic.RunAfterGap:
			found = append(found, rec.passed[wall])
		case len(instants) == 0:
		case fold == periodic.FirstInFold:
			found = append(found, instants[0])
		case fold == periodic.SecondInFold:
			found = append(found, instants[len(instants)-1])
		default:
			found = append(found, instants...)
		}
	}
	slices.SortFunc(found, time.Time.Compare)
	return slices.CompactFunc(found, time.Time.Equal)
}

// changes are instants near which the zone's wall jumps, or nothing happens.
var changes = map[string][]string{
	"America/Mexico_City":  {"2022-04-03T08:00", "2022-10-30T07:00", "2026-04-05T08:00"},
	"America/New_York":     {"2026-03-08T07:00", "2026-11-01T06:00", "2040-12-31T05:00"},
	"America/Santiago":     {"2026-04-05T03:00", "2026-09-06T04:00"},
	"America/St_Johns":     {"2010-03-14T03:31", "2010-11-07T02:31"},
	"Asia/Kolkata":         {"2026-06-01T00:00"},
	"Australia/Lord_Howe":  {"2026-04-04T15:00", "2026-10-03T15:30"},
	"Europe/Berlin":        {"2026-03-29T01:00", "2026-10-25T01:00"},
	"Pacific/Apia":         {"2011-12-30T10:00", "2012-03-31T14:00", "2011-09-24T14:00"},
	"America/Nuuk":         {"2026-03-29T01:00", "2026-10-25T01:00"},
	"Antarctica/Troll":     {"2026-03-29T01:00", "2026-10-25T01:00"},
	"Pacific/Kwajalein":    {"1993-08-21T12:00"},
	"Africa/Casablanca":    {"2026-02-15T02:00", "2026-03-22T02:00"},
	"Europe/Lisbon":        {"1992-09-27T01:00", "1996-03-31T01:00"},
	"Asia/Pyongyang":       {"2015-08-14T15:00", "2018-05-04T15:00"},
	"America/Goose_Bay":    {"2006-04-02T04:01", "2006-10-29T03:01"},
	"Antarctica/Casey":     {"2009-10-17T18:00", "2010-03-04T15:00"},
	"America/Indianapolis": {"2006-04-02T07:00"},
}

func TestSlotsAgreeWithAScanOfEveryMinute(t *testing.T) {
	t.Parallel()
	const perWindow = 25
	gaps := []periodic.Gap{"", periodic.RunAfterGap, periodic.SkipGap}
	folds := []periodic.Fold{"", periodic.FirstInFold, periodic.SecondInFold, periodic.BothInFold}
	for name, instants := range changes {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			zone, err := time.LoadLocation(name)
			require.NoError(t, err)
			r := rand.New(rand.NewPCG(1, uint64(len(name))))
			for _, instant := range instants {
				center := at(t, instant)
				rec := observe(zone, center.AddDate(0, 0, -4), center.AddDate(0, 0, 4))
				for range perWindow {
					e := draw(r)
					d := periodic.Definition{Cron: e.text, Zone: name, Gap: gaps[r.IntN(len(gaps))], Fold: folds[r.IntN(len(folds))]}
					s, err := periodic.Parse("oracle", d)
					if err != nil { // the draw may be a 31 February
						require.ErrorContains(t, err, "never fires")
						continue
					}
					gap, fold := cmp.Or(d.Gap, periodic.RunAfterGap), cmp.Or(d.Fold, periodic.FirstInFold)
					if e.elapsed {
						gap, fold = cmp.Or(d.Gap, periodic.SkipGap), cmp.Or(d.Fold, periodic.BothInFold)
					}
					agree(t, s, rec, rec.slots(e, gap, fold))
				}
			}
		})
	}
}

// agree compares in the middle of the record, since its ends cut gaps and
// folds apart.
func agree(t *testing.T, s periodic.Schedule, rec record, want []time.Time) {
	t.Helper()
	from, to := rec.from.AddDate(0, 0, 2), rec.to.AddDate(0, 0, -2)
	want = slices.DeleteFunc(want, func(u time.Time) bool { return !u.After(from) || u.After(to) })
	got := []time.Time{}
	for slot := range s.Slots(from, to) {
		got = append(got, slot.At)
	}
	require.Equal(t, want, got, "%+v", s.Definition)
	for i, u := range got {
		require.True(t, s.Includes(u))
		for _, later := range []time.Duration{0, time.Nanosecond, 59 * time.Second} {
			latest, ok := s.Latest(u.Add(later))
			require.True(t, ok)
			require.Equal(t, u, latest.At, "%+v", s.Definition)
		}
		if i > 0 {
			require.Equal(t, u, s.Next(u.Add(-time.Nanosecond)))
			latest, _ := s.Latest(u.Add(-time.Nanosecond))
			require.Equal(t, got[i-1], latest.At, "%+v", s.Definition)
		}
		if i == 50 {
			break
		}
	}
}
