package community_test

import (
	"errors"
	"slices"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/community"
)

type earned struct {
	member, points int
	at             time.Time
}

func june(day int) time.Time { return time.Date(2026, time.June, day, 12, 0, 0, 0, time.UTC) }

// The table of case I1: 13, 14 and 15 share a total that 14 reached first.
var (
	tied     = []earned{{11, 90, june(2)}, {12, 80, june(2)}, {13, 70, june(3)}, {14, 70, june(1)}, {15, 70, june(5)}, {16, 0, june(1)}}
	tiedWeek = community.Week{Period: "2026-W23", From: friday, To: friday.AddDate(0, 0, 7)}
)

// errAgain takes a close back, so that the next one starts afresh.
var errAgain = errors.New("again")

func closeWeek(t *testing.T, pool *pgxpool.Pool, week community.Week) {
	t.Helper()
	commit(t, pool, func(tx pgx.Tx) error { return community.CloseLeaderboard(t.Context(), tx, week) })
}

func placed(t *testing.T, pool *pgxpool.Pool, period string) []int64 {
	t.Helper()
	places, err := community.Places(t.Context(), pool, period)
	require.NoError(t, err)
	ids := []int64{}
	for _, p := range places {
		ids = append(ids, p.MemberID)
	}
	return ids
}

// Case I1.
func TestCloseLeaderboardTies(t *testing.T) {
	t.Parallel()

	reversed := slices.Clone(tied)
	slices.Reverse(reversed)
	for name, rows := range map[string][]earned{"AsWritten": tied, "WrittenInReverse": reversed} {
		t.Run(name+"GoesToWhoReachedTheTotalFirst", func(t *testing.T) {
			t.Parallel()
			pool := world(t)
			for _, e := range rows {
				score(t, pool, e.member, e.points, e.at)
			}
			for range 100 {
				err := pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
					require.NoError(t, community.CloseLeaderboard(t.Context(), tx, tiedWeek))
					places, err := community.Places(t.Context(), tx, tiedWeek.Period)
					require.NoError(t, err)
					require.Equal(t, []community.Place{{Place: 1, MemberID: 11, Handle: "m11", Points: 90}, {Place: 2, MemberID: 12, Handle: "m12", Points: 80}, {Place: 3, MemberID: 14, Handle: "m14", Points: 70}}, places)
					return errAgain
				})
				require.ErrorIs(t, err, errAgain)
			}
			exec(t, pool, `VACUUM FULL activity`)
			closeWeek(t, pool, tiedWeek)
			require.Equal(t, []int64{11, 12, 14}, placed(t, pool, tiedWeek.Period))
		})
	}

	t.Run("TotalIsReachedByTheLastActivityThatScores", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		score(t, pool, 11, 5, june(1))
		score(t, pool, 11, 5, june(3))
		score(t, pool, 12, 10, june(2))
		score(t, pool, 12, 0, june(4))
		closeWeek(t, pool, tiedWeek)
		require.Equal(t, []int64{12, 11}, placed(t, pool, tiedWeek.Period))
	})

	t.Run("EqualTotalAndTimeGoesToTheSmallerID", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		for _, member := range []int{15, 12, 14, 13} {
			score(t, pool, member, 10, june(1))
		}
		closeWeek(t, pool, tiedWeek)
		require.Equal(t, []int64{12, 13, 14}, placed(t, pool, tiedWeek.Period))
	})
}

func TestCloseLeaderboardWhoCounts(t *testing.T) {
	t.Parallel()

	t.Run("FewerThanThreePaysFewerAndNobodyWithZero", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		score(t, pool, 11, 9, friday.Add(-time.Hour))
		score(t, pool, 12, 8, friday.Add(-time.Hour))
		score(t, pool, 16, 0, friday.Add(-time.Hour))
		closeWeek(t, pool, week)
		require.Equal(t, []int64{11, 12}, placed(t, pool, week.Period))
		require.Equal(t, []string{"11 10", "12 10"}, list(t, pool, `SELECT concat_ws(' ', member_id, coins) FROM wallets ORDER BY member_id`))
	})

	t.Run("AClosedWeekStaysAtTwo", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		score(t, pool, 11, 9, friday.Add(-time.Hour))
		score(t, pool, 12, 8, friday.Add(-time.Hour))
		closeWeek(t, pool, week)
		score(t, pool, 13, 7, friday.Add(-time.Hour))
		closeWeek(t, pool, week)
		require.Equal(t, []int64{11, 12}, placed(t, pool, week.Period))
	})

	t.Run("WeekIsHalfOpen", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		score(t, pool, 11, 1, week.From)
		score(t, pool, 12, 2, week.To.Add(-time.Microsecond))
		score(t, pool, 13, 100, week.From.Add(-time.Microsecond))
		score(t, pool, 14, 100, week.To)
		closeWeek(t, pool, week)
		require.Equal(t, []int64{12, 11}, placed(t, pool, week.Period))
	})

	t.Run("BotsTakeNoPlace", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		score(t, pool, 1, 500, friday.Add(-time.Hour))
		score(t, pool, 11, 1, friday.Add(-time.Hour))
		closeWeek(t, pool, week)
		require.Equal(t, []int64{11}, placed(t, pool, week.Period))
	})

	t.Run("AWeekWithoutPointsStillHasItsThread", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		closeWeek(t, pool, week)
		require.Empty(t, placed(t, pool, week.Period))
		require.Equal(t, []string{"Esta semana nadie sumó puntos. ¡La próxima puede ser la tuya!"}, list(t, pool, `SELECT body FROM threads`))
		require.Empty(t, notified(t, pool))
	})
}
