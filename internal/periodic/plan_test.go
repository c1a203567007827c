package periodic

import (
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/claim"
)

// missedFrom are the slots of a cron in (after, now], none of which ran.
func missedFrom(t *testing.T, cron string, after, now time.Time) (due []time.Time) {
	t.Helper()
	schedule, err := Parse("case", Definition{Cron: cron, Zone: "UTC"})
	require.NoError(t, err)
	for slot := range schedule.Slots(after, now) {
		due = append(due, slot.At)
	}
	return due
}

func policyOf(t *testing.T, policy Policy) Policy {
	t.Helper()
	require.NoError(t, policy.fill())
	return policy
}

func at(t *testing.T, text string) time.Time {
	t.Helper()
	at, err := time.Parse("2006-01-02T15:04:05Z", text)
	require.NoError(t, err)
	return at
}

// planned writes a plan as the slots that run and the ranges that do not.
func planned(run []time.Time, skips []skip) string {
	var parts []string
	for _, slot := range run {
		parts = append(parts, slot.Format("01-02T15:04"))
	}
	for _, s := range skips {
		parts = append(parts, strings.TrimPrefix(string(s.outcome), "skipped_")+" "+s.first.Format("01-02T15:04")+".."+s.last.Format("01-02T15:04"))
	}
	return strings.Join(parts, ", ")
}

// TestB2DownOverNewYear: three Mondays were missed.
func TestB2DownOverNewYear(t *testing.T) {
	t.Parallel()
	now := at(t, "2027-01-05T12:00:00Z")
	due := missedFrom(t, "0 0 * * 1", at(t, "2026-12-14T00:00:00Z"), now)
	for rule, want := range map[CatchUpRule]string{
		All:    "12-21T00:00, 12-28T00:00, 01-04T00:00",
		Latest: "01-04T00:00, superseded 12-21T00:00..12-28T00:00",
		None:   "late 12-21T00:00..01-04T00:00",
	} {
		run, skips := plan(policyOf(t, Policy{CatchUp: rule, MaxLateness: 30 * 24 * time.Hour}), due, now, nil)
		require.Equal(t, want, planned(run, skips), rule)
	}
	run, skips := plan(policyOf(t, Policy{}), due, now, nil)
	require.Equal(t, "01-04T00:00, late 12-21T00:00..12-28T00:00", planned(run, skips), "seven days by default")
}

// TestB3MoreThanAHundred: the schedule is not stopped for ever, and says what it left out.
func TestB3MoreThanAHundred(t *testing.T) {
	t.Parallel()
	now := at(t, "2026-06-01T10:21:30Z")
	due := missedFrom(t, "* * * * *", at(t, "2026-06-01T08:29:00Z"), now)
	require.Len(t, due, 112)
	run, skips := plan(policyOf(t, Policy{}), due, now, nil)
	require.Len(t, run, 100)
	require.Equal(t, at(t, "2026-06-01T08:42:00Z"), run[0])
	require.Equal(t, at(t, "2026-06-01T10:21:00Z"), run[99])
	require.Equal(t, []skip{{claim.SkippedCapped, at(t, "2026-06-01T08:30:00Z"), at(t, "2026-06-01T08:41:00Z"), 12}}, skips)
}

func TestPlan(t *testing.T) {
	t.Parallel()
	now := at(t, "2026-06-01T10:00:10Z")

	t.Run("TwoWeeksOfAMinutelyJobAreOneSkip", func(t *testing.T) {
		t.Parallel()
		due := missedFrom(t, "* * * * *", now.AddDate(0, 0, -14), now)
		run, skips := plan(policyOf(t, Policy{}), due, now, nil)
		require.Len(t, run, 100)
		require.Len(t, skips, 1)
		require.EqualValues(t, 14*24*60-100, skips[0].slots)
	})

	t.Run("AChangeOfTheLeaderIsNoReasonToSkip", func(t *testing.T) {
		t.Parallel()
		due := missedFrom(t, "@every 10s", now.Add(-time.Minute), now)
		for _, policy := range []Policy{{CatchUp: None}, {CatchUp: Latest}, {MaxCount: 1}} {
			run, skips := plan(policyOf(t, policy), due, now, nil)
			require.Len(t, run, 6, policy)
			require.Empty(t, skips, policy)
		}
	})

	t.Run("WhatWasDueWhilePausedIsSkipped", func(t *testing.T) {
		t.Parallel()
		paused := at(t, "2026-06-01T08:00:00Z")
		due := missedFrom(t, "@hourly", at(t, "2026-06-01T06:00:00Z"), now)
		run, skips := plan(policyOf(t, Policy{}), due, now, &paused)
		require.Equal(t, "06-01T07:00, paused 06-01T08:00..06-01T10:00", planned(run, skips))
	})

	t.Run("NothingDue", func(t *testing.T) {
		t.Parallel()
		run, skips := plan(policyOf(t, Policy{}), nil, now, &now)
		require.Empty(t, run)
		require.Empty(t, skips)
	})
}
