package community_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/community"
)

const day = 24 * time.Hour

// open starts thread `id` of member 11 at an instant.
func open(t *testing.T, pool *pgxpool.Pool, id int, at time.Time) {
	t.Helper()
	exec(t, pool, `INSERT INTO threads (id, section_id, author_id, title, body, created_at) VALUES ($1, 1, 11, 't', 'b', $2)`, id, at)
}

func answer(t *testing.T, pool *pgxpool.Pool, thread, author int, at time.Time) {
	t.Helper()
	exec(t, pool, `INSERT INTO replies (thread_id, author_id, body, created_at) VALUES ($1, $2, 'r', $3)`, thread, author, at)
}

// patrol does what one slot does.
func patrol(t *testing.T, pool *pgxpool.Pool, at time.Time) {
	t.Helper()
	commit(t, pool, func(tx pgx.Tx) error {
		if err := community.NudgeThreads(t.Context(), tx, at); err != nil {
			return err
		}
		return community.CloseThreads(t.Context(), tx, at)
	})
}

// nudges is every reply of the bot as "thread time".
func nudges(t *testing.T, pool *pgxpool.Pool) []string {
	t.Helper()
	return list(t, pool, `SELECT thread_id || to_char(created_at AT TIME ZONE 'UTC', ' MM-DD HH24:MI') FROM replies
		WHERE author_id = 1 AND body LIKE '👋%' ORDER BY created_at, thread_id`)
}

func closed(t *testing.T, pool *pgxpool.Pool) []string {
	t.Helper()
	return list(t, pool, `SELECT id || to_char(closed_at AT TIME ZONE 'UTC', ' MM-DD HH24:MI') FROM threads WHERE closed_at IS NOT NULL ORDER BY id`)
}

func TestZombieThreads(t *testing.T) {
	t.Parallel()

	t.Run("NudgedAtThirtyDaysOfSilenceAndNotBefore", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		open(t, pool, 1, friday.Add(-30*day))
		open(t, pool, 2, friday.Add(-30*day+time.Microsecond))
		for thread, last := range map[int]time.Duration{3: 30 * day, 4: 30*day - time.Microsecond, 5: -time.Hour} {
			open(t, pool, thread, friday.Add(-90*day))
			answer(t, pool, thread, 12, friday.Add(-60*day))
			answer(t, pool, thread, 12, friday.Add(-last)) // in 5 between the slot and a late run
		}
		open(t, pool, 6, friday.Add(-90*day))
		answer(t, pool, 6, 1, friday.Add(-day)) // a bot's reply is no reply
		for range 2 {
			patrol(t, pool, friday)
			require.Equal(t, []string{"1 05-30 00:00", "3 05-30 00:00", "6 05-30 00:00"}, nudges(t, pool))
		}
		require.Empty(t, closed(t, pool))
	})

	t.Run("ClosedFourteenDaysAfterTheNudgeAndNotBefore", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		for thread := 1; thread <= 4; thread++ {
			open(t, pool, thread, friday.Add(-40*day))
		}
		patrol(t, pool, friday)
		answer(t, pool, 2, 12, friday)            // at the very instant of the nudge
		answer(t, pool, 3, 12, friday.Add(9*day)) // while the bot waits
		answer(t, pool, 4, 1, friday.Add(9*day))  // a bot again
		patrol(t, pool, friday.Add(14*day-15*time.Minute))
		require.Empty(t, closed(t, pool))
		patrol(t, pool, friday.Add(14*day))
		patrol(t, pool, friday.Add(15*day))
		require.Equal(t, []string{"1 06-13 00:00", "4 06-13 00:00"}, closed(t, pool))
		require.Len(t, nudges(t, pool), 4)
		patrol(t, pool, friday.Add(30*day)) // an answer at the nudge starts a new silence
		require.Equal(t, "2 06-29 00:00", nudges(t, pool)[4])
	})

	t.Run("EverySilenceGetsItsOwnNudge", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		open(t, pool, 1, friday.Add(-30*day))
		patrol(t, pool, friday)
		answer(t, pool, 1, 12, friday.Add(day))
		patrol(t, pool, friday.Add(31*day-15*time.Minute))
		require.Equal(t, []string{"1 05-30 00:00"}, nudges(t, pool))
		patrol(t, pool, friday.Add(31*day))
		require.Equal(t, []string{"1 05-30 00:00", "1 06-30 00:00"}, nudges(t, pool))
		patrol(t, pool, friday.Add(45*day))
		require.Equal(t, []string{"1 07-14 00:00"}, closed(t, pool))
		answer(t, pool, 1, 12, friday.Add(46*day))
		patrol(t, pool, friday.Add(90*day))
		require.Len(t, nudges(t, pool), 2, "a closed thread rests")
	})

	t.Run("TwoSlotsAtOnceNudgeOnce", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		open(t, pool, 1, friday.Add(-40*day))
		first, err := pool.Begin(t.Context())
		require.NoError(t, err)
		require.NoError(t, community.NudgeThreads(t.Context(), first, friday))

		second := make(chan error, 1)
		go func() {
			second <- pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
				return community.NudgeThreads(t.Context(), tx, friday.Add(15*time.Minute))
			})
		}()
		waitForBlocked(t, pool, 1)
		require.NoError(t, first.Commit(t.Context()))
		require.NoError(t, <-second)
		require.Equal(t, []string{"1 05-30 00:00"}, nudges(t, pool))
	})

	t.Run("WithoutTheBotANudgeIsAnError", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		exec(t, pool, `UPDATE members SET handle = 'mod' WHERE id = 1`)
		patrol(t, pool, friday) // nothing to nudge: the work is done
		open(t, pool, 1, friday.Add(-40*day))
		err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return community.NudgeThreads(t.Context(), tx, friday) })
		require.EqualError(t, err, `nudge threads: moderator bot not found`)
		require.Equal(t, []string{"0"}, list(t, pool, `SELECT count(*)::text FROM replies`))
	})
}
