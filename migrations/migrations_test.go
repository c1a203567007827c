package migrations_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
	"github.com/ranura/ranura/migrations"
)

// H3: three replicas start at once on an empty database, ten times over. Bare
// River migrators fail in two cases of three here.
func TestUpByThreeReplicasAtOnce(t *testing.T) {
	t.Parallel()
	for trial := range 10 {
		t.Run(fmt.Sprint(trial), func(t *testing.T) {
			t.Parallel()
			pool := postgrestest.NewEmpty(t)
			var replicas errgroup.Group
			applied := make([][]migrations.Applied, 3)
			for i := range applied {
				replicas.Go(func() (err error) {
					applied[i], err = migrations.Up(t.Context(), pool)
					return err
				})
			}
			require.NoError(t, replicas.Wait())

			winners := 0
			for _, a := range applied {
				if len(a) > 0 {
					winners++
					require.Len(t, a, len(statusOf(t, pool)), "one replica applies everything")
				}
			}
			require.Equal(t, 1, winners)
			require.Equal(t, 1, count(t, pool, `SELECT count(*) FROM ranura_migrations WHERE version_id = 1`))
			requireUpToDate(t, pool, true)
		})
	}
}

func TestUpAndDown(t *testing.T) {
	t.Parallel()

	t.Run("DownLeavesNothing", func(t *testing.T) {
		t.Parallel()
		pool := postgrestest.NewEmpty(t)
		applied, err := migrations.Up(t.Context(), pool)
		require.NoError(t, err)
		reverted, err := migrations.Down(t.Context(), pool)
		require.NoError(t, err)
		require.Len(t, reverted, len(applied))
		require.Empty(t, schemaOf(t, pool))
	})

	t.Run("UpDownUpMakesTheSameSchema", func(t *testing.T) {
		t.Parallel()
		pool := postgrestest.New(t)
		before := schemaOf(t, pool)
		require.NotEmpty(t, before)
		_, err := migrations.Down(t.Context(), pool)
		require.NoError(t, err)
		_, err = migrations.Up(t.Context(), pool)
		require.NoError(t, err)
		require.Equal(t, before, schemaOf(t, pool))
	})

	t.Run("UpTwiceAppliesNothing", func(t *testing.T) {
		t.Parallel()
		applied, err := migrations.Up(t.Context(), postgrestest.New(t))
		require.NoError(t, err)
		require.Empty(t, applied)
	})

	t.Run("DownOfAnEmptyDatabaseRevertsNothing", func(t *testing.T) {
		t.Parallel()
		reverted, err := migrations.Down(t.Context(), postgrestest.NewEmpty(t))
		require.NoError(t, err)
		require.Empty(t, reverted)
	})

	// A worker pool's limits are for jobs; a migration of a large table takes longer.
	t.Run("StatementTimeoutOfThePoolDoesNotApply", func(t *testing.T) {
		t.Parallel()
		config := postgrestest.NewEmpty(t).Config()
		config.ConnConfig.RuntimeParams["statement_timeout"] = "1"
		pool, err := pgxpool.NewWithConfig(t.Context(), config)
		require.NoError(t, err)
		defer pool.Close()
		_, err = migrations.Up(t.Context(), pool)
		require.NoError(t, err)
	})
}

const waiters = `
SELECT count(*) FROM pg_stat_activity
WHERE datname = current_database() AND application_name = 'ranura migrate' AND query LIKE '%pg_try_advisory_lock%'`

func TestLock(t *testing.T) {
	t.Parallel()
	pool := postgrestest.NewEmpty(t)
	config := pool.Config().ConnConfig
	config.RuntimeParams["application_name"] = "slow migration"
	peer, err := pgx.ConnectConfig(t.Context(), config)
	require.NoError(t, err)
	defer peer.Close(context.Background())
	_, err = peer.Exec(t.Context(), `SELECT pg_advisory_lock(x'72616e757261'::bigint)`)
	require.NoError(t, err)

	waiting, giveUp := context.WithCancel(t.Context())
	defer giveUp()
	result := make(chan error, 1)
	go func() {
		_, err := migrations.Up(waiting, pool)
		result <- err
	}()
	require.Eventually(t, func() bool { return count(t, pool, waiters) == 1 }, 30*time.Second, 10*time.Millisecond)
	giveUp()
	err = <-result
	require.ErrorIs(t, err, migrations.ErrLocked)
	require.EqualError(t, err, fmt.Sprintf("migrate up: another process holds the migration lock: session %d (slow migration); "+
		"wait for it, or end it with pg_terminate_backend, and try again", peer.PgConn().PID()))
	require.Empty(t, schemaOf(t, pool))

	require.NoError(t, peer.Close(t.Context()), "a process that dies gives the lock back")
	_, err = migrations.Up(t.Context(), pool)
	require.NoError(t, err)
}

func TestFilesAreNumberedWithoutGaps(t *testing.T) {
	t.Parallel()
	names, err := filepath.Glob("*.sql")
	require.NoError(t, err)
	require.NotEmpty(t, names)
	for i, name := range names {
		require.Regexp(t, fmt.Sprintf(`^%03d_[a-z_]+\.sql$`, i+1), name)
	}
}

func count(t *testing.T, pool *pgxpool.Pool, query string) (n int) {
	t.Helper()
	require.NoError(t, pool.QueryRow(t.Context(), query).Scan(&n))
	return n
}
