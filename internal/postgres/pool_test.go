package postgres_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres"
	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

func TestPools(t *testing.T) {
	t.Parallel()

	t.Run("WorkerSessionsAreBounded", func(t *testing.T) {
		t.Parallel()
		pool := openWorkers(t, emptyURL(t), 20*time.Second)
		require.EqualValues(t, 3, pool.Config().MaxConns)
		for name, want := range map[string]string{
			"application_name":                    "ranura/a1 worker",
			"client_connection_check_interval":    "5s",
			"default_transaction_isolation":       "read committed",
			"idle_in_transaction_session_timeout": "25s",
			"lock_timeout":                        "10s",
			"plan_cache_mode":                     "force_generic_plan",
			"statement_timeout":                   "20s",
			"tcp_keepalives_count":                "3",
			"tcp_keepalives_idle":                 "5",
			"tcp_keepalives_interval":             "2",
			"tcp_user_timeout":                    "10000",
			"transaction_timeout":                 transactionTimeout(t, pool, "25s"),
		} {
			require.Equal(t, want, setting(t, pool, name), name)
		}
	})

	t.Run("G2TheServerEndsNoJobBeforeItsTimeout", func(t *testing.T) {
		t.Parallel()
		pool := openWorkers(t, emptyURL(t), 2*time.Hour)
		require.Equal(t, "2h", setting(t, pool, "statement_timeout"))
		require.Equal(t, "7205s", setting(t, pool, "idle_in_transaction_session_timeout"))
		require.Equal(t, transactionTimeout(t, pool, "7205s"), setting(t, pool, "transaction_timeout"))
	})

	t.Run("ControlSessionsKeepTheirOwnPlans", func(t *testing.T) {
		t.Parallel()
		pool, err := postgres.OpenControl(t.Context(), emptyURL(t), "a1", 4)
		require.NoError(t, err)
		defer pool.Close()
		require.Equal(t, "auto", setting(t, pool, "plan_cache_mode"))
		require.Equal(t, "ranura/a1 control", setting(t, pool, "application_name"))
		require.Equal(t, "1min", setting(t, pool, "statement_timeout"))
	})

	t.Run("BadURLNamesNoPassword", func(t *testing.T) {
		t.Parallel()
		_, err := postgres.OpenControl(t.Context(), "postgres://u:sec@ret@h/d", "a1", 1)
		require.ErrorContains(t, err, "database URL has a password that is not encoded")
		require.NotContains(t, err.Error(), "ret")
	})

	t.Run("OpensWhileTheDatabaseIsAway", func(t *testing.T) {
		t.Parallel()
		pool, err := postgres.OpenControl(t.Context(), "postgres://u@127.0.0.1:1/d", "a1", 1)
		require.NoError(t, err)
		pool.Close()
	})
}

// H2: open sockets survive when a primary becomes read-only, and then the pool
// must not hand them out for ever.
func TestReadOnlySessions(t *testing.T) {
	t.Parallel()
	url := emptyURL(t)
	admin, err := pgxpool.New(t.Context(), url)
	require.NoError(t, err)
	defer admin.Close()
	pool := openWorkers(t, url, 20*time.Second)
	_, err = pool.Exec(t.Context(), `CREATE TABLE writes ()`)
	require.NoError(t, err)

	// The socket is open and its session flips, as at a failover.
	_, err = pool.Exec(t.Context(), `SET default_transaction_read_only = on`)
	require.NoError(t, err)
	require.EqualValues(t, 1, pool.Stat().TotalConns())
	before := pool.Stat().NewConnsCount()

	_, err = pool.Exec(t.Context(), `INSERT INTO writes DEFAULT VALUES`)
	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused)
	require.Equal(t, pgerrcode.ReadOnlySQLTransaction, refused.Code)

	_, err = pool.Exec(t.Context(), `INSERT INTO writes DEFAULT VALUES`)
	require.NoError(t, err, "the next write has a new connection")
	require.Equal(t, before+1, pool.Stat().NewConnsCount())

	// New connections to a read-only database are refused, not pooled.
	_, err = admin.Exec(t.Context(), `DO $$ BEGIN
		EXECUTE format('ALTER DATABASE %I SET default_transaction_read_only = on', current_database()); END $$`)
	require.NoError(t, err)
	pool.Reset()
	require.ErrorContains(t, pool.Ping(t.Context()), "read only connection")
}

func emptyURL(t *testing.T) string {
	t.Helper()
	return postgrestest.NewEmpty(t).Config().ConnString()
}

func openWorkers(t *testing.T, url string, jobTimeout time.Duration) *pgxpool.Pool {
	t.Helper()
	pool, err := postgres.OpenWorkers(t.Context(), url, "a1", jobTimeout, 3)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func setting(t *testing.T, pool *pgxpool.Pool, name string) string {
	t.Helper()
	var value string
	require.NoError(t, pool.QueryRow(context.Background(), `SELECT coalesce(current_setting($1, true), '')`, name).Scan(&value))
	return value
}

// transactionTimeout is want where the server has the setting, from PostgreSQL 17 on.
func transactionTimeout(t *testing.T, pool *pgxpool.Pool, want string) string {
	t.Helper()
	var has bool
	require.NoError(t, pool.QueryRow(t.Context(), `SELECT current_setting('server_version_num')::int >= 170000`).Scan(&has))
	if !has {
		return ""
	}
	return want
}
