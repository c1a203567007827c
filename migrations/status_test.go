package migrations_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
	"github.com/ranura/ranura/migrations"
)

func TestStatus(t *testing.T) {
	t.Parallel()
	pool := postgrestest.NewEmpty(t)
	requireUpToDate(t, pool, false)
	pending := statusOf(t, pool)
	for _, s := range pending {
		require.Zero(t, s.AppliedAt)
	}
	require.Equal(t, migrations.State{Line: migrations.River, Version: 1, Name: pending[0].Name}, pending[0])
	require.Contains(t, pending, migrations.State{Line: migrations.Ranura, Version: 1, Name: "runs"})
	require.Empty(t, schemaOf(t, pool), "looking must not create a version table")

	_, err := migrations.Up(t.Context(), pool)
	require.NoError(t, err)
	requireUpToDate(t, pool, true)
	var now time.Time
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT now()`).Scan(&now))
	applied := statusOf(t, pool)
	require.Len(t, applied, len(pending))
	for _, s := range applied {
		require.WithinDuration(t, now, s.AppliedAt, time.Minute, "%s %d", s.Line, s.Version)
	}

	_, err = pool.Exec(t.Context(), `DELETE FROM river_migration WHERE version = (SELECT max(version) FROM river_migration)`)
	require.NoError(t, err)
	requireUpToDate(t, pool, false)
}

func TestNewerDatabase(t *testing.T) {
	t.Parallel()
	pool := postgrestest.New(t)
	_, err := pool.Exec(t.Context(), `INSERT INTO ranura_migrations (version_id, is_applied) VALUES (999, true)`)
	require.NoError(t, err)

	applied, err := migrations.Up(t.Context(), pool)
	require.NoError(t, err, "an old replica may restart after a new one migrated")
	require.Empty(t, applied)
	requireUpToDate(t, pool, true)

	states := statusOf(t, pool)
	require.Equal(t, 999, states[len(states)-1].Version)
	require.Empty(t, states[len(states)-1].Name)

	_, err = migrations.Down(t.Context(), pool)
	require.EqualError(t, err, "migrate down: database has ranura version 999, which this binary does not know: use the newer binary")
}

func statusOf(t *testing.T, pool *pgxpool.Pool) []migrations.State {
	t.Helper()
	states, err := migrations.Status(t.Context(), pool)
	require.NoError(t, err)
	return states
}

func requireUpToDate(t *testing.T, pool *pgxpool.Pool, want bool) {
	t.Helper()
	got, err := migrations.UpToDate(t.Context(), pool)
	require.NoError(t, err)
	require.Equal(t, want, got)
}
