package community_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/community"
)

func TestCloseLeaderboardAwards(t *testing.T) {
	t.Parallel()

	won := func(place int, member int64, handle string, points int64, medal string, balance int64) community.Award {
		return community.Award{
			Place: place, MemberID: member, Handle: handle, Points: points, Coins: 10, Balance: balance,
			Notifications: []string{medal + " ¡Quedaste en el top 3! +10 Coins por tu actividad esta semana."},
		}
	}
	awards := []community.Award{
		won(1, 13, "m13", 30, "🥇", 10), won(2, 12, "m12", 20, "🥈", 17), won(3, 11, "m11", 10, "🥉", 10),
	}

	t.Run("EachIsToldAndPaidOnceAndTheThreadSaysWho", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		commit(t, pool, func(tx pgx.Tx) error { return community.Credit(t.Context(), tx, "welcome", "2025", 7, []int64{12}) })
		for member := 11; member <= 13; member++ {
			score(t, pool, member, 10*(member-10), friday.Add(-time.Hour))
		}
		closeWeek(t, pool, week)

		got, err := community.Awards(t.Context(), pool, week.Period)
		require.NoError(t, err)
		require.Equal(t, awards, got)
		title, err := community.SummaryTitle(t.Context(), pool, week.Period)
		require.NoError(t, err)
		require.Equal(t, "🏆 Top 3 de la semana — 29 May 2026", title)
		require.Equal(t, []string{"1 general 2026-05-30 00:00:00+00 🥇 @m13 — puntos: 30\n🥈 @m12 — puntos: 20\n🥉 @m11 — puntos: 10"},
			list(t, pool, `SELECT concat_ws(' ', author_id, s.name, created_at AT TIME ZONE 'UTC' || '+00', body)
				FROM threads t JOIN sections s ON s.id = t.section_id`))

		// Points that come in later change neither who was paid nor how much.
		score(t, pool, 14, 500, friday.Add(-time.Hour))
		closeWeek(t, pool, week)
		got, err = community.Awards(t.Context(), pool, week.Period)
		require.NoError(t, err)
		require.Equal(t, awards, got)
		require.Equal(t, []string{"1 3 4"}, list(t, pool, `SELECT concat_ws(' ', (SELECT count(*) FROM threads),
			(SELECT count(*) FROM notifications), (SELECT count(*) FROM token_transactions))`))
	})

	t.Run("ARepeatRepairsWhatIsMissingAndPaysNobodyTwice", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		score(t, pool, 11, 10, friday.Add(-time.Hour))
		closeWeek(t, pool, week)
		exec(t, pool, `DELETE FROM notifications`)
		closeWeek(t, pool, week)
		require.Equal(t, []string{"11 leaderboard 2026-W22 🥇 ¡Quedaste en el top 3! +10 Coins por tu actividad esta semana."}, notified(t, pool))
		require.Equal(t, []string{"10"}, list(t, pool, `SELECT coins::text FROM wallets`))
	})

	t.Run("AnUnclosedWeekHasNone", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		got, err := community.Awards(t.Context(), pool, week.Period)
		require.NoError(t, err)
		require.Empty(t, got)
		_, err = community.SummaryTitle(t.Context(), pool, week.Period)
		require.ErrorIs(t, err, community.ErrNotFound)
		require.EqualError(t, err, `read summary thread: period 2026-W22 not found`)
	})
}

// The incident's second attempt: coins went out although the thread could not
// be posted, so that every later tick paid again.
func TestCloseLeaderboardWritesNothingWithoutItsThread(t *testing.T) {
	t.Parallel()
	for name, missing := range map[string]struct{ sql, text string }{
		"SectionRenamed":      {`UPDATE sections SET name = 'charla'`, `post thread: section "general" not found`},
		"BotRenamed":          {`UPDATE members SET handle = 'mod' WHERE id = 1`, `post thread: moderator bot not found`},
		"BotIsAnOrdinaryUser": {`UPDATE members SET is_bot = false WHERE id = 1`, `post thread: moderator bot not found`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := world(t)
			score(t, pool, 11, 10, friday.Add(-time.Hour))
			exec(t, pool, missing.sql)
			err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error { return community.CloseLeaderboard(t.Context(), tx, week) })
			require.ErrorIs(t, err, community.ErrNotFound)
			require.EqualError(t, err, missing.text)
			require.Equal(t, []string{"0"}, list(t, pool, `SELECT ((SELECT count(*) FROM threads) + (SELECT count(*) FROM notifications)
				+ (SELECT count(*) FROM token_transactions) + (SELECT count(*) FROM wallets) + (SELECT count(*) FROM leaderboard_places))::text`))
		})
	}
}
