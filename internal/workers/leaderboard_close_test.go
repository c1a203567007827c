package workers_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/community"
	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/postgres/postgrestest"
	"github.com/ranura/ranura/internal/workers"
)

// newCommunity is a database with the section, the bot (member 1) and members
// 11 to 14.
func newCommunity(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := postgrestest.New(t)
	write(t, pool, `INSERT INTO sections (name) VALUES ('general')`)
	write(t, pool, `INSERT INTO members (id, handle, name, joined_on, is_bot) VALUES (1, 'moderador', 'Moderador', '2020-01-01', true)`)
	write(t, pool, `INSERT INTO members (id, handle, name, joined_on) SELECT n, 'm' || n, 'M' || n, '2025-07-01' FROM generate_series(11, 14) n`)
	return pool
}

func write(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	_, err := pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func texts(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), sql, args...)
	require.NoError(t, err)
	values, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return values
}

// attempt runs one slot in a transaction of its own, without a claim: what it
// does not write twice is held by the second line of defence alone.
func attempt(t *testing.T, pool *pgxpool.Pool, worker workers.Worker, key, at string) error {
	t.Helper()
	slotAt, err := time.Parse(time.RFC3339, at)
	require.NoError(t, err)
	return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
		return worker.Run(t.Context(), tx, periodic.Slot{Name: worker.Name(), Key: key, At: slotAt})
	})
}

func TestLeaderboardClose(t *testing.T) {
	t.Parallel()

	t.Run("PaysTheSevenDaysUpToTheSlotOnce", func(t *testing.T) {
		t.Parallel()
		pool := newCommunity(t)
		write(t, pool, `INSERT INTO activity (member_id, points, occurred_at) VALUES
			(11, 30, '2026-05-23 00:00:00Z'), (12, 20, '2026-05-29 23:59:59Z'), (13, 10, '2026-05-26Z'),
			(14, 99, '2026-05-22 23:59:59Z'), (14, 99, '2026-05-30 00:00:00Z')`)
		for range 2 {
			require.NoError(t, attempt(t, pool, workers.LeaderboardClose{}, "2026-W22", "2026-05-30T00:00:00Z"))
			require.Equal(t, []string{
				"11 🥇 ¡Quedaste en el top 3! +10 Coins por tu actividad esta semana.",
				"12 🥈 ¡Quedaste en el top 3! +10 Coins por tu actividad esta semana.",
				"13 🥉 ¡Quedaste en el top 3! +10 Coins por tu actividad esta semana.",
			}, texts(t, pool, `SELECT member_id || ' ' || text FROM notifications ORDER BY member_id`))
			require.Equal(t, []string{"11 10", "12 10", "13 10"}, texts(t, pool, `SELECT member_id || ' ' || coins FROM wallets ORDER BY member_id`))
			require.Equal(t, []string{"🏆 Top 3 de la semana — 29 May 2026"}, texts(t, pool, `SELECT title FROM threads`))
		}
	})

	t.Run("TheTitleIsTheSlotsLocalDateInSpanish", func(t *testing.T) {
		t.Parallel()
		pool := newCommunity(t)
		require.NoError(t, attempt(t, pool, workers.LeaderboardClose{}, "2026-W53", "2027-01-02T00:00:00Z"))
		require.NoError(t, attempt(t, pool, workers.LeaderboardClose{}, "2026-W23", "2026-06-06T00:00:00Z"))
		require.Equal(t, []string{"🏆 Top 3 de la semana — 1 Ene 2027", "🏆 Top 3 de la semana — 5 Jun 2026"}, texts(t, pool, `SELECT title FROM threads ORDER BY id`))
	})

	// The zone put its clocks forward on 3 April 2022, so that this local week
	// has 167 hours; the hour before it belongs to the slot before.
	t.Run("WeeksMeetAcrossAClockChange", func(t *testing.T) {
		t.Parallel()
		pool := newCommunity(t)
		write(t, pool, `INSERT INTO activity (member_id, points, occurred_at) VALUES
			(11, 1, '2022-04-01 23:59:59Z'), (12, 1, '2022-04-02 00:00:00Z'), (13, 1, '2022-04-08 22:59:59Z'), (14, 1, '2022-04-08 23:00:00Z')`)
		require.NoError(t, attempt(t, pool, workers.LeaderboardClose{}, "2022-W14", "2022-04-08T23:00:00Z"))
		places, err := community.Places(t.Context(), pool, "2022-W14")
		require.NoError(t, err)
		require.Equal(t, []community.Place{{Place: 1, MemberID: 12, Handle: "m12", Points: 1}, {Place: 2, MemberID: 13, Handle: "m13", Points: 1}}, places)
	})

	t.Run("WithoutItsSectionNothingIsWritten", func(t *testing.T) {
		t.Parallel()
		pool := newCommunity(t)
		write(t, pool, `INSERT INTO activity (member_id, points, occurred_at) VALUES (11, 30, '2026-05-25Z')`)
		write(t, pool, `UPDATE sections SET name = 'charla'`)
		require.EqualError(t, attempt(t, pool, workers.LeaderboardClose{}, "2026-W22", "2026-05-30T00:00:00Z"), `post thread: section "general" not found`)
		require.Equal(t, []string{"0"}, texts(t, pool, `SELECT ((SELECT count(*) FROM token_transactions) + (SELECT count(*) FROM notifications))::text`))

		// Put right, the same slot runs.
		write(t, pool, `UPDATE sections SET name = 'general'`)
		require.NoError(t, attempt(t, pool, workers.LeaderboardClose{}, "2026-W22", "2026-05-30T00:00:00Z"))
		require.Equal(t, []string{"11 10"}, texts(t, pool, `SELECT member_id || ' ' || coins FROM wallets`))
	})
}
