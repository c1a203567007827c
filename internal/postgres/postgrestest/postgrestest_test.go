package postgrestest_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

func BenchmarkNew(b *testing.B) {
	postgrestest.New(b) // starts the server, makes the template
	for b.Loop() {
		postgrestest.New(b)
	}
}

func TestNew(t *testing.T) {
	t.Parallel()

	t.Run("DatabasesAreMigratedAndApart", func(t *testing.T) {
		t.Parallel()
		one, other := postgrestest.New(t), postgrestest.New(t)
		_, err := one.Exec(t.Context(), `INSERT INTO worker_runs (name, key) VALUES ('digest', '2026-W22')`)
		require.NoError(t, err)
		var runs, jobs int
		require.NoError(t, other.QueryRow(t.Context(), `SELECT count(*) FROM worker_runs`).Scan(&runs))
		require.NoError(t, other.QueryRow(t.Context(), `SELECT count(*) FROM river_job`).Scan(&jobs))
		require.Zero(t, runs)
		require.Zero(t, jobs)
	})

	t.Run("TheURLIsForOtherProcesses", func(t *testing.T) {
		t.Parallel()
		pool := postgrestest.New(t)
		conn, err := pgx.Connect(t.Context(), pool.Config().ConnString())
		require.NoError(t, err)
		defer conn.Close(t.Context())
		var same bool
		require.NoError(t, conn.QueryRow(t.Context(), `SELECT current_database() = $1`, pool.Config().ConnConfig.Database).Scan(&same))
		require.True(t, same)
	})

	t.Run("AClockThatStandsIsEverybodys", func(t *testing.T) {
		t.Parallel()
		pool := postgrestest.New(t)
		for _, at := range []time.Time{time.Date(2027, 1, 5, 12, 0, 0, 0, time.UTC), time.Date(2026, 6, 1, 8, 29, 0, 0, time.UTC)} {
			postgrestest.StopClock(t, pool, at)
			conn, err := pgx.Connect(t.Context(), pool.Config().ConnString())
			require.NoError(t, err)
			var now, clock, ran time.Time
			require.NoError(t, conn.QueryRow(t.Context(), `SELECT now(), clock_timestamp()`).Scan(&now, &clock))
			require.NoError(t, conn.QueryRow(t.Context(), `INSERT INTO worker_runs (name, key) VALUES ('digest', $1) RETURNING ran_at`, at.String()).Scan(&ran))
			require.NoError(t, conn.Close(t.Context()))
			require.Equal(t, []time.Time{at, at, at}, []time.Time{now.UTC(), clock.UTC(), ran.UTC()})
		}
	})

	t.Run("AnEndedTestLeavesNoDatabase", func(t *testing.T) {
		t.Parallel()
		admin := postgrestest.NewEmpty(t)
		var name string
		t.Run("ended", func(t *testing.T) { //nolint:paralleltest // the parent goes on when it has ended
			pool := postgrestest.New(t)
			name = pool.Config().ConnConfig.Database
			// A process of the test that is still connected does not keep it.
			_, err := pgx.Connect(t.Context(), pool.Config().ConnString())
			require.NoError(t, err)
		})
		var left int
		require.NoError(t, admin.QueryRow(t.Context(), `SELECT count(*) FROM pg_database WHERE datname = $1`, name).Scan(&left))
		require.Zero(t, left)
	})

	for i := range 8 {
		t.Run(fmt.Sprint("ManyAtOnce", i), func(t *testing.T) {
			t.Parallel()
			require.NoError(t, postgrestest.New(t).Ping(t.Context()))
		})
	}
}

func TestNewEmpty(t *testing.T) {
	t.Parallel()
	var tables int
	require.NoError(t, postgrestest.NewEmpty(t).QueryRow(t.Context(),
		`SELECT count(*) FROM pg_tables WHERE schemaname = 'public'`).Scan(&tables))
	require.Zero(t, tables)
}
