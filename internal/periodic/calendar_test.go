package periodic_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
)

func TestCalendar(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, cron, after, upTo string
		want                    []string
	}{
		{"D2The31stIsNotMonthEnd", "0 0 31 * *", "2025-12-31", "2026-12-31", []string{"01-31", "03-31", "05-31", "07-31", "08-31", "10-31", "12-31"}},
		{"D2LeapDays", "0 0 29 2 *", "2024-01-01", "2033-01-01", []string{"02-29", "02-29", "02-29"}},
		{"D2LastDays", "0 0 28-31 * *", "2026-02-01", "2026-03-31", []string{"02-28", "03-28", "03-29", "03-30", "03-31"}},
		{"D3EitherDayField", "30 4 1,15 * 5", "2026-06-01", "2026-07-01", []string{"06-01", "06-05", "06-12", "06-15", "06-19", "06-26"}},
		{"D3NotTheFirstMonday", "0 9 1-7 * 1", "2026-06-01", "2026-07-01", []string{
			"06-01", "06-02", "06-03", "06-04", "06-05", "06-06", "06-07", "06-08", "06-15", "06-22", "06-29",
		}},
		{"AStarWithAStepOfOneIsAStar", "0 0 */1 * 1", "2026-06-01", "2026-06-15", []string{"06-08", "06-15"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			s := parse(t, periodic.Definition{Cron: c.cron, Zone: "UTC"})
			var days []string
			for _, slot := range slots(t, s, c.after, c.upTo) {
				days = append(days, slot[:5])
			}
			require.Equal(t, c.want, days)
		})
	}
}

func TestD2LeapDayAcrossACenturyWithoutOne(t *testing.T) {
	t.Parallel()
	for _, zone := range []string{"UTC", "America/New_York"} {
		s := parse(t, periodic.Definition{Cron: "0 12 29 2 *", Zone: zone})
		next := s.Next(at(t, "2096-03-01"))
		require.Equal(t, "2104-02-29", next.Format(time.DateOnly))
		slot, ok := s.Latest(next.Add(-time.Second))
		require.True(t, ok)
		require.Equal(t, "2096-02-29", slot.At.Format(time.DateOnly))
	}
}
