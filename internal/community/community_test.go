package community_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/community"
	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// Every test stands on the Friday of the incident, 29 May 2026 at 18:00 in
// Mexico City.
var (
	mexicoCity = time.FixedZone("CST", -6*60*60)
	friday     = time.Date(2026, time.May, 29, 18, 0, 0, 0, mexicoCity)
	week       = community.Week{Period: "2026-W22", From: friday.AddDate(0, 0, -7), To: friday}
)

// world is a database with the section, the bot (member 1) and members 11 to
// 16, which most rules need.
func world(t *testing.T) *pgxpool.Pool {
	t.Helper()
	pool := postgrestest.New(t)
	exec(t, pool, `INSERT INTO sections (name) VALUES ('general')`)
	exec(t, pool, `INSERT INTO members (id, handle, name, joined_on, is_bot)
		VALUES (1, 'moderador', 'Moderador', '2020-01-01', true)`)
	exec(t, pool, `INSERT INTO members (id, handle, name, joined_on)
		SELECT n, 'm' || n, 'M' || n, '2025-07-01' FROM generate_series(11, 16) n`)
	return pool
}

func exec(t *testing.T, pool *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	_, err := pool.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

// score gives a member points at an instant.
func score(t *testing.T, pool *pgxpool.Pool, member, points int, at time.Time) {
	t.Helper()
	exec(t, pool, `INSERT INTO activity (member_id, points, occurred_at) VALUES ($1, $2, $3)`, member, points, at)
}

// commit runs do in a transaction of its own and requires it to succeed.
func commit(t *testing.T, pool *pgxpool.Pool, do func(tx pgx.Tx) error) {
	t.Helper()
	require.NoError(t, pgx.BeginFunc(t.Context(), pool, do))
}

// list is the one text column that sql selects.
func list(t *testing.T, pool *pgxpool.Pool, sql string) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), sql)
	require.NoError(t, err)
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return texts
}

// notified is every notification, in order, as "member kind period text".
func notified(t *testing.T, pool *pgxpool.Pool) []string {
	t.Helper()
	return list(t, pool, `SELECT concat_ws(' ', member_id, kind, period, text) FROM notifications ORDER BY member_id, kind, period`)
}
