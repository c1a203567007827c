package incident_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ranura/ranura/internal/claim"
)

func texts(t *testing.T, db *pgxpool.Pool, sql string) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), sql)
	require.NoError(t, err)
	values, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return values
}

func exec(t *testing.T, db *pgxpool.Pool, sql string) {
	t.Helper()
	_, err := db.Exec(t.Context(), sql)
	require.NoError(t, err)
}

var (
	paidOnce   = []string{"ana 10", "beto 10", "caro 10"}
	paidThrice = []string{"ana 30", "beto 30", "caro 30"}
)

func TestAttempt1ALockPerTick(t *testing.T) {
	t.Parallel()

	t.Run("PaysThreeTimesWhenReplicasTickAMinuteApart", func(t *testing.T) { // A2
		t.Parallel()
		s := newOldService(t)
		for replica, now := range staggered {
			require.NoError(t, s.tick(t.Context(), replica, now, s.closeWeek))
		}
		require.Equal(t, paidThrice, s.wallets(t))
		require.Equal(t, []string{ // what the third of the week saw
			"18:00 🥉 ¡Quedaste en el top 3! +10 Coins por tu actividad esta semana.",
			"18:01 🥉 ¡Quedaste en el top 3! +10 Coins por tu actividad esta semana.",
			"18:02 🥉 ¡Quedaste en el top 3! +10 Coins por tu actividad esta semana.",
		}, texts(t, s.db, `SELECT to_char(at AT TIME ZONE 'America/Mexico_City', 'HH24:MI ') || text
			FROM old.notifications WHERE member = 'caro' ORDER BY at`))
	})

	t.Run("ProtectsOnlyTheInstantAtWhichAnotherIsAtWork", func(t *testing.T) { // A1
		t.Parallel()
		s := newOldService(t)
		require.NoError(t, s.tick(t.Context(), 0, friday, func(ctx context.Context, tx pgx.Tx, now time.Time) error {
			for _, other := range []int{1, 2} { // while this one is at work
				require.NoError(t, s.tick(ctx, other, now, s.closeWeek))
			}
			return s.closeWeek(ctx, tx, now)
		}))
		require.Equal(t, paidOnce, s.wallets(t))
	})
}

func TestAttempt2DoesTheThreadExist(t *testing.T) {
	t.Parallel()

	t.Run("HoldsAsLongAsTheThreadIsPosted", func(t *testing.T) {
		t.Parallel()
		s := newOldService(t)
		for replica, now := range staggered {
			require.NoError(t, s.tick(t.Context(), replica, now, s.closeWeekUnlessPosted))
		}
		require.Equal(t, paidOnce, s.wallets(t))
		require.Empty(t, s.warnings)
	})

	t.Run("PaysAtEveryTickWhenTheSectionWasRenamed", func(t *testing.T) {
		t.Parallel()
		s := newOldService(t)
		s.renameSection(t)
		for replica, now := range staggered {
			require.NoError(t, s.tick(t.Context(), replica, now, s.closeWeekUnlessPosted))
		}
		require.Equal(t, paidThrice, s.wallets(t))
		require.Len(t, s.warnings, 3)
		require.Empty(t, texts(t, s.db, `SELECT title FROM old.threads`))
	})
}

func TestAttempt3TheClaim(t *testing.T) {
	t.Parallel()

	closeStaggered := func(t *testing.T, s *oldService) {
		t.Helper()
		for replica, want := range []claim.Outcome{claim.Ran, claim.Duplicate, claim.Duplicate} {
			outcome, err := s.claimed(t.Context(), staggered[replica], s.closeWeek)
			require.NoError(t, err)
			require.Equal(t, want, outcome)
		}
		require.Equal(t, paidOnce, s.wallets(t))
	}

	t.Run("PaysOnceWhenReplicasTickAMinuteApart", func(t *testing.T) { // A2
		t.Parallel()
		closeStaggered(t, newOldService(t))
	})

	// Once, but best effort is still silent: nobody learns that there is no thread.
	t.Run("PaysOnceWhenTheSectionWasRenamed", func(t *testing.T) {
		t.Parallel()
		s := newOldService(t)
		s.renameSection(t)
		closeStaggered(t, s)
		require.Empty(t, texts(t, s.db, `SELECT title FROM old.threads`))
	})

	t.Run("PaysOnceAtTheSameInstant", func(t *testing.T) {
		t.Parallel()
		s := newOldService(t)
		var group errgroup.Group
		for range s.replicas {
			group.Go(func() error {
				_, err := s.claimed(t.Context(), friday, s.closeWeek)
				return err
			})
		}
		require.NoError(t, group.Wait())
		require.Equal(t, paidOnce, s.wallets(t))
	})

	t.Run("AFailedAttemptFreesTheSlotAndTheNextOnePaysOnce", func(t *testing.T) { // E7
		t.Parallel()
		s := newOldService(t)
		broken := errors.New("moderator bot not found")
		_, err := s.claimed(t.Context(), friday, func(ctx context.Context, tx pgx.Tx, now time.Time) error {
			return errors.Join(s.closeWeek(ctx, tx, now), broken)
		})
		require.ErrorIs(t, err, broken)
		require.Empty(t, s.wallets(t))
		require.Empty(t, texts(t, s.db, `SELECT key FROM worker_runs`))

		for _, want := range []claim.Outcome{claim.Ran, claim.Duplicate} {
			outcome, err := s.claimed(t.Context(), friday, s.closeWeek)
			require.NoError(t, err)
			require.Equal(t, want, outcome)
		}
		require.Equal(t, paidOnce, s.wallets(t))
	})
}
