package periodic_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
)

func TestSlotsAroundChangesOfTheClock(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name        string
		definition  periodic.Definition
		after, upTo string
		want        []string
	}{
		{
			"C1FixedTimeAtTheStartOfAGap", periodic.Definition{Cron: "0 2 * * *", Zone: "America/Los_Angeles"},
			"2025-03-08", "2025-03-11", []string{"03-08T10:00Z", "03-09T10:00Z", "03-10T09:00Z"},
		}, {
			"C1FixedTimeInAGap", periodic.Definition{Cron: "30 2 * * *", Zone: "America/Los_Angeles"},
			"2025-03-08", "2025-03-11", []string{"03-08T10:30Z", "03-09T10:00Z", "03-10T09:30Z"},
		}, {
			"C1NewYork", periodic.Definition{Cron: "30 2 * * *", Zone: "America/New_York"},
			"2026-03-07", "2026-03-10", []string{"03-07T07:30Z", "03-08T07:00Z", "03-09T06:30Z"},
		}, {
			"C1SkipGap", periodic.Definition{Cron: "30 2 * * *", Zone: "America/Los_Angeles", Gap: periodic.SkipGap},
			"2025-03-08", "2025-03-11", []string{"03-08T10:30Z", "03-10T09:30Z"},
		}, {
			"C1AllSkippedTimesAreOneSlot", periodic.Definition{Cron: "0,30 2,3 * * *", Zone: "America/Los_Angeles"},
			"2025-03-09", "2025-03-10", []string{"03-09T10:00Z", "03-09T10:30Z"},
		}, {
			"C2FirstInFold", periodic.Definition{Cron: "30 1 * * *", Zone: "America/New_York"},
			"2026-10-31", "2026-11-04", []string{"10-31T05:30Z", "11-01T05:30Z", "11-02T06:30Z", "11-03T06:30Z"},
		}, {
			"C2SecondInFold", periodic.Definition{Cron: "30 1 * * *", Zone: "America/New_York", Fold: periodic.SecondInFold},
			"2026-10-31", "2026-11-03", []string{"10-31T05:30Z", "11-01T06:30Z", "11-02T06:30Z"},
		}, {
			"C2BothInFold", periodic.Definition{Cron: "30 1 * * *", Zone: "America/New_York", Fold: periodic.BothInFold},
			"2026-10-31", "2026-11-03", []string{"10-31T05:30Z", "11-01T05:30Z", "11-01T06:30Z", "11-02T06:30Z"},
		}, {
			"C3StepFollowsElapsedTimeInAFold", periodic.Definition{Cron: "*/30 1 * * *", Zone: "America/New_York"},
			"2026-11-01", "2026-11-02", []string{"11-01T05:00Z", "11-01T05:30Z", "11-01T06:00Z", "11-01T06:30Z"},
		}, {
			"C3StepWithFirstInFold", periodic.Definition{Cron: "*/30 1 * * *", Zone: "America/New_York", Fold: periodic.FirstInFold},
			"2026-11-01", "2026-11-02", []string{"11-01T05:00Z", "11-01T05:30Z"},
		}, {
			"C3StepFollowsElapsedTimeInAGap", periodic.Definition{Cron: "*/30 2 * * *", Zone: "America/Los_Angeles"},
			"2025-03-09", "2025-03-11", []string{"03-10T09:00Z", "03-10T09:30Z"},
		}, {
			"C4HalfHourFold", periodic.Definition{Cron: "45 1 * * *", Zone: "Australia/Lord_Howe"},
			"2026-04-03", "2026-04-06", []string{"04-03T14:45Z", "04-04T14:45Z", "04-05T15:15Z"},
		}, {
			"C4HalfHourGap", periodic.Definition{Cron: "15 2 * * *", Zone: "Australia/Lord_Howe"},
			"2026-10-02", "2026-10-05", []string{"10-02T15:45Z", "10-03T15:30Z", "10-04T15:15Z"},
		}, {
			"C5WeeklyWithoutMidnight", periodic.Definition{Cron: "@weekly", Zone: "America/Santiago"},
			"2026-08-29", "2026-09-14", []string{"08-30T04:00Z", "09-06T04:00Z", "09-13T03:00Z"},
		}, {
			"C6MexicoHasNoSummerTime", periodic.Definition{Cron: "0 9 * * *", Zone: "America/Mexico_City"},
			"2026-04-06", "2026-04-07", []string{"04-06T15:00Z"},
		}, {
			"C6TijuanaStillHas", periodic.Definition{Cron: "0 9 * * *", Zone: "America/Tijuana"},
			"2023-03-11", "2023-03-13", []string{"03-11T17:00Z", "03-12T16:00Z"},
		}, {
			"C8LosAngelesInAGapIsNot0930Z", periodic.Definition{Cron: "30 2 9 3 *", Zone: "America/Los_Angeles"},
			"2025-03-09", "2025-03-10", []string{"03-09T10:00Z"},
		}, {
			"C8BerlinInAGapIsTheInstantAfterIt", periodic.Definition{Cron: "30 2 29 3 *", Zone: "Europe/Berlin"},
			"2026-03-28", "2026-03-30", []string{"03-29T01:00Z"},
		}, {
			"SamoaLosesADay", periodic.Definition{Cron: "0 9 * * *", Zone: "Pacific/Apia"},
			"2011-12-29", "2012-01-01", []string{"12-29T19:00Z", "12-30T10:00Z", "12-30T19:00Z", "12-31T19:00Z"},
		}, {
			"OffsetsOfSecondsKeepWholeSeconds", periodic.Definition{Cron: "0 0 * * *", Zone: "Europe/Berlin"},
			"1893-03-30", "1893-04-01", []string{"03-30T23:06Z", "03-31T23:06Z"},
		}, {
			"A6NextComesFromTheSlot", periodic.Definition{Cron: "0 6 * * 1", Zone: "Europe/Prague"},
			"2026-08-01", "2026-08-18", []string{"08-03T04:00Z", "08-10T04:00Z", "08-17T04:00Z"},
		},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, slots(t, parse(t, c.definition), c.after, c.upTo))
		})
	}
}

func TestC3QuarterHoursKeepTheirBeat(t *testing.T) {
	t.Parallel()
	s := parse(t, periodic.Definition{Cron: "*/15 * * * *", Zone: "Europe/Berlin"})

	long := slots(t, s, "2026-10-24T21:59", "2026-10-25T22:45")
	require.Len(t, long, 100)
	first := slices.Index(long, "10-25T00:00Z")
	require.Equal(t, []string{
		"10-25T00:00Z", "10-25T00:15Z", "10-25T00:30Z", "10-25T00:45Z",
		"10-25T01:00Z", "10-25T01:15Z", "10-25T01:30Z", "10-25T01:45Z",
	}, long[first:first+8])

	short := slots(t, s, "2026-03-28T22:59", "2026-03-29T21:45")
	require.Len(t, short, 92)
	require.Equal(t, []string{"03-29T00:45Z", "03-29T01:00Z"}, short[7:9])
}

func TestC8SlotsDoNotComeFromTimeDate(t *testing.T) {
	t.Parallel()
	zone, err := time.LoadLocation("America/Los_Angeles")
	require.NoError(t, err)
	require.Equal(t, at(t, "2025-03-09T09:30"), time.Date(2025, 3, 9, 2, 30, 0, 0, zone).UTC(), "Go's answer lies before the gap")
	s := parse(t, periodic.Definition{Cron: "30 2 * * *", Zone: "America/Los_Angeles"})
	require.False(t, s.Includes(at(t, "2025-03-09T09:30")))
	require.True(t, s.Includes(at(t, "2025-03-09T10:00")))
}
