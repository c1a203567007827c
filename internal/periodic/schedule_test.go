package periodic_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
)

func parse(t testing.TB, d periodic.Definition) periodic.Schedule {
	t.Helper()
	s, err := periodic.Parse("case", d)
	require.NoError(t, err)
	return s
}

// at reads an instant in one of three precisions: date, minute, second.
func at(t testing.TB, text string) time.Time {
	t.Helper()
	instant, err := time.Parse(time.RFC3339, text+"2026-01-01T00:00:00Z"[len(text):])
	require.NoError(t, err)
	return instant
}

// slots lists the slots in (after, upTo] as "01-02T15:04Z".
func slots(t testing.TB, s periodic.Schedule, after, upTo string) []string {
	t.Helper()
	var found []string
	for slot := range s.Slots(at(t, after), at(t, upTo)) {
		found = append(found, slot.At.Format("01-02T15:04Z"))
	}
	return found
}

func TestA5IntervalsCountFromTheEpoch(t *testing.T) {
	t.Parallel()
	hourly := parse(t, periodic.Definition{Cron: "@every 1h", Zone: "Europe/Berlin"})
	require.Equal(t, at(t, "2026-06-01T10:00"), hourly.Next(at(t, "2026-06-01T09:00:03")))
	require.Equal(t, at(t, "2026-06-01T10:00"), hourly.Next(at(t, "2026-06-01T09:17:41")))
	require.Equal(t, at(t, "2026-06-01T11:00"), hourly.Next(at(t, "2026-06-01T10:00")))

	s := parse(t, periodic.Definition{Cron: "@every 90m", Zone: "UTC"})
	require.Equal(t, []string{"01-01T01:30Z", "01-01T03:00Z"}, slots(t, s, "1970-01-01", "1970-01-01T03:00"))
	require.Equal(t, []string{"12-31T22:30Z", "01-01T00:00Z"}, slots(t, s, "1969-12-31T21:00", "1970-01-01"))
}

func TestNextEnds(t *testing.T) {
	t.Parallel()
	s := parse(t, periodic.Definition{Cron: "30 2 * * *", Zone: "America/New_York"})
	require.True(t, s.Next(at(t, "9999-12-31T23:59")).IsZero())
	require.Equal(t, 1, s.Next(time.Time{}).Year())
	_, ok := s.Latest(time.Time{})
	require.False(t, ok)

	// Go's zone bounds end leap years a day early where a rule has replaced
	// the table: a walk along them must not stand still.
	require.Equal(t, at(t, "2040-12-31T07:30"), s.Next(at(t, "2040-12-31T00:30")))
	require.Equal(t, at(t, "2041-01-01T07:30"), s.Next(at(t, "2040-12-31T12:00")))

	// The one slot of the year is skipped: the next year's is found.
	gone := parse(t, periodic.Definition{Cron: "30 9 30 12 *", Zone: "Pacific/Apia", Gap: periodic.SkipGap})
	require.Equal(t, at(t, "2012-12-29T19:30"), gone.Next(at(t, "2011-01-01")))
}

func TestWarnings(t *testing.T) {
	t.Parallel()
	require.Empty(t, parse(t, periodic.Definition{Cron: "*/15 * 1 * *", Zone: "UTC"}).Warnings())
	require.Equal(t, // D3
		[]string{`schedule "case": cron "0 9 1-7 * 1": day of month and day of week are both restricted, so either is enough`},
		parse(t, periodic.Definition{Cron: "0 9 1-7 * 1", Zone: "UTC"}).Warnings())
	require.Equal(t, // C3
		[]string{`schedule "case": cron "*/15 * * * *": fold "first" leaves out slots while the clock repeats an hour`},
		parse(t, periodic.Definition{Cron: "*/15 * * * *", Zone: "UTC", Fold: periodic.FirstInFold}).Warnings())
}
