package demo_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/community"
	"github.com/ranura/ranura/internal/community/demo"
	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

var friday = time.Date(2026, time.May, 29, 18, 0, 0, 0, time.FixedZone("CST", -6*60*60))

func seed(t *testing.T, pool *pgxpool.Pool) (places []community.Place, err error) {
	t.Helper()
	err = pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		places, err = demo.Seed(t.Context(), tx, friday)
		return err
	})
	return places, err
}

func TestSeed(t *testing.T) {
	t.Parallel()

	t.Run("PredictsTheLeaderboardTieIncluded", func(t *testing.T) {
		t.Parallel()
		pool := postgrestest.New(t)
		want, err := seed(t, pool)
		require.NoError(t, err)
		require.Equal(t, []community.Place{
			{Place: 1, MemberID: 42, Handle: "emiliano_martinez", Points: 48},
			{Place: 2, MemberID: 137, Handle: "fernanda_ortega", Points: 38},
			{Place: 3, MemberID: 23, Handle: "citlali_garcia", Points: 38},
		}, want)

		week := community.Week{Period: "2026-W22", From: friday.AddDate(0, 0, -7), To: friday}
		require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			return community.CloseLeaderboard(t.Context(), tx, week)
		}))
		got, err := community.Places(t.Context(), pool, week.Period)
		require.NoError(t, err)
		require.Equal(t, want, got)
	})

	t.Run("ASecondSeedIsRefusedAndWritesNothing", func(t *testing.T) {
		t.Parallel()
		pool := postgrestest.New(t)
		_, err := seed(t, pool)
		require.NoError(t, err)
		_, err = seed(t, pool)
		require.ErrorIs(t, err, demo.ErrNotEmpty)
		require.EqualError(t, err, "seed demo: the community is not empty")

		var members int
		require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM members`).Scan(&members))
		require.Equal(t, 201, members)
	})

	t.Run("LeavesWorkForEveryWorkerAndRoomForNewRows", func(t *testing.T) {
		t.Parallel()
		pool := postgrestest.New(t)
		_, err := seed(t, pool)
		require.NoError(t, err)
		week := community.Week{Period: "2026-W22", From: friday.AddDate(0, 0, -7), To: friday}
		require.NoError(t, pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
			require.NoError(t, community.SendDigests(t.Context(), tx, week))
			require.NoError(t, community.MeasureSquads(t.Context(), tx, week))
			require.NoError(t, community.CelebrateAnniversaries(t.Context(), tx, friday))
			require.NoError(t, community.NudgeThreads(t.Context(), tx, friday))
			_, err := tx.Exec(t.Context(), `INSERT INTO members (handle, name, joined_on) VALUES ('nueva', 'Nueva', '2026-05-29')`)
			return err
		}))
		for kind, least := range map[string]int{community.Digest: 100, community.SquadHealth: 1, community.Anniversary: 1} {
			var sent int
			require.NoError(t, pool.QueryRow(t.Context(), `SELECT count(*) FROM notifications WHERE kind = $1`, kind).Scan(&sent))
			require.GreaterOrEqual(t, sent, least, kind)
		}
		mismatches, err := community.WalletMismatches(t.Context(), pool)
		require.NoError(t, err)
		require.Empty(t, mismatches)
	})
}
