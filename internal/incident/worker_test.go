package incident_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/community"
	"github.com/ranura/ranura/internal/community/demo"
	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/postgres/postgrestest"
	"github.com/ranura/ranura/internal/workers"
)

// leaderboard is the registry's own line.
func leaderboard(t *testing.T) workers.Scheduled {
	t.Helper()
	registry, err := workers.NewRegistry(workers.All(), friday)
	require.NoError(t, err)
	scheduled, err := registry.Find(workers.LeaderboardClose{}.Name())
	require.NoError(t, err)
	return scheduled
}

// newTown is the demo community in the week that ends at the slot, and who must
// win it.
func newTown(t *testing.T, slot time.Time) (db *pgxpool.Pool, want []community.Place) {
	t.Helper()
	db = postgrestest.New(t)
	require.NoError(t, pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) (err error) {
		want, err = demo.Seed(t.Context(), tx, slot.In(mexicoCity))
		return err
	}))
	return db, want
}

// closeWeek runs the worker as a timer does, whatever the time is.
func closeWeek(ctx context.Context, db *pgxpool.Pool, slot periodic.Slot) (claim.Outcome, error) {
	key := claim.Key{Name: slot.Name, Key: slot.Key}
	return claim.Run(ctx, db, key, claim.Meta{SlotAt: slot.At, Source: claim.Schedule}, func(ctx context.Context, tx pgx.Tx) error {
		return workers.LeaderboardClose{}.Run(ctx, tx, slot)
	})
}

// The worker says what the old service hid: a week whose thread cannot be
// posted is not closed.
func TestRenamedSectionFailsTheSlotUntilItIsBack(t *testing.T) {
	t.Parallel()
	db, want := newTown(t, friday)
	slot := leaderboard(t).At(friday)
	written := func() []string {
		return texts(t, db, `SELECT concat_ws(' ',
			(SELECT count(*) FROM worker_runs), (SELECT count(*) FROM leaderboard_places),
			(SELECT count(*) FROM notifications), (SELECT count(*) FROM threads WHERE kind IS NOT NULL),
			(SELECT coalesce(sum(coins), 0) FROM token_transactions WHERE reason = 'leaderboard'))`)
	}

	exec(t, db, `UPDATE sections SET name = 'charla' WHERE name = 'general'`)
	for range staggered {
		_, err := closeWeek(t.Context(), db, slot)
		require.ErrorIs(t, err, community.ErrNotFound)
		require.EqualError(t, err, `claim leaderboard_close@2026-W22: post thread: section "general" not found`)
		require.Equal(t, []string{"0 0 0 0 0"}, written())
	}

	exec(t, db, `UPDATE sections SET name = 'general' WHERE name = 'charla'`)
	for _, want := range []claim.Outcome{claim.Ran, claim.Duplicate, claim.Duplicate} {
		outcome, err := closeWeek(t.Context(), db, slot)
		require.NoError(t, err)
		require.Equal(t, want, outcome)
		require.Equal(t, []string{"1 3 3 1 30"}, written())
	}
	places, err := community.Places(t.Context(), db, "2026-W22")
	require.NoError(t, err)
	require.Equal(t, want, places)
}

// K7. Somebody runs the command on a Wednesday.
func TestWednesday(t *testing.T) {
	t.Parallel()
	wednesday := time.Date(2026, time.May, 27, 16, 0, 0, 0, time.UTC)

	t.Run("TheOldCommandEatsFridaysSlot", func(t *testing.T) {
		t.Parallel()
		s := newOldService(t)
		outcome, err := s.claimed(t.Context(), wednesday, s.closeWeek)
		require.NoError(t, err)
		require.Equal(t, claim.Ran, outcome)
		require.Equal(t, []string{"2026-W22"}, texts(t, s.db, `SELECT key FROM worker_runs`))

		outcome, err = s.claimed(t.Context(), friday, s.closeWeek)
		require.NoError(t, err)
		require.Equal(t, claim.Duplicate, outcome)
	})

	t.Run("TheLatestSlotIsLastFridays", func(t *testing.T) {
		t.Parallel()
		schedule := leaderboard(t).Schedule
		latest, ok := schedule.Latest(wednesday)
		require.True(t, ok)
		lastFriday := time.Date(2026, time.May, 23, 0, 0, 0, 0, time.UTC)
		require.Equal(t, periodic.Slot{Name: "leaderboard_close", Key: "2026-W21", At: lastFriday}, latest)
		require.Equal(t, periodic.Slot{Name: "leaderboard_close", Key: "2026-W22", At: friday.UTC()}, schedule.At(schedule.Next(wednesday)))
	})

	// The database's clock decides, so this is whatever day it is.
	t.Run("TheNewCommandLeavesFridaysSlotToFriday", func(t *testing.T) {
		t.Parallel()
		scheduled := leaderboard(t)
		now, err := periodic.Now(t.Context(), postgrestest.New(t))
		require.NoError(t, err)
		last, ok := scheduled.Latest(now)
		require.True(t, ok)
		coming := scheduled.At(scheduled.Next(now))
		db, want := newTown(t, last.At)
		byHand := func(request workers.Request) (workers.Result, error) {
			request.Source = claim.Manual
			runner := &workers.Runner{DB: db, Replica: "a-1", Log: slog.New(slog.DiscardHandler)}
			return runner.RunByHand(t.Context(), db, scheduled, request)
		}

		result, err := byHand(workers.Request{})
		require.NoError(t, err)
		require.Equal(t, claim.Ran, result.Outcome)
		require.Equal(t, last.Key, result.Key)
		require.False(t, result.Slot.After(now))
		places, err := community.Places(t.Context(), db, last.Key)
		require.NoError(t, err)
		require.Equal(t, want, places)

		for _, request := range []workers.Request{{Slot: coming.At}, {Key: coming.Key}, {Key: coming.Key, Force: true}} {
			_, err := byHand(request)
			require.ErrorIs(t, err, workers.ErrBadSlot)
			require.ErrorContains(t, err, "a coming slot is never run early")
		}
		require.Equal(t, []string{last.Key}, texts(t, db, `SELECT key FROM worker_runs`))

		_, err = closeWeek(t.Context(), db, coming) // past every check of the command
		require.ErrorContains(t, err, "worker_runs_not_early", "the table itself keeps Friday's slot for Friday")
	})
}
