package command_test

import (
	"context"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// TestA1FastAPIWorkersEnqueueTheSameSlots: three replicas fire every second, and
// four workers of a FastAPI application, which each run its startup hook, ask
// for ten of these seconds as well.
func TestA1FastAPIWorkersEnqueueTheSameSlots(t *testing.T) {
	t.Parallel()
	python := findPython(t)
	db := postgrestest.New(t)
	createBeats(t, db)
	var replicas []*process
	for _, name := range []string{"a", "b", "c"} {
		replicas = append(replicas, start(t, db, []string{"REPLICA_NAME=" + name, "LOG_FORMAT=json", "LOG_LEVEL=DEBUG", asApp + "=beats"}, "serve"))
	}
	beats(t, db, 3)

	const workers, slots = 4, 10
	keys := comingKeys(t, db, slots)
	fastAPI := startFastAPI(t, db, python, workers, keys)
	const jobs = `SELECT count(*) FROM river_job WHERE args->>'key' = ANY ($1)`
	eventually(t, "every worker's jobs are done", func() bool {
		return count(t, db, jobs+` AND unique_key IS NULL AND state = 'completed'`, keys) == workers*slots
	})
	eventually(t, "the timers are past these slots", func() bool {
		return count(t, db, `SELECT count(*) FROM worker_runs WHERE key > $1`, keys[slots-1]) >= 3
	})
	awaitEverySecond(t, db)
	for _, replica := range replicas {
		replica.terminate(t)
	}

	require.Equal(t, slots, count(t, db, `SELECT count(*) FROM worker_runs WHERE key = ANY ($1)`, keys), "claims")
	require.Equal(t, slots, count(t, db, `SELECT count(*) FROM beats WHERE slot = ANY ($1::text[]::timestamptz[])`, keys), "effects")
	requireNoneTwice(t, db)
	require.Zero(t, count(t, db, `SELECT count(*) FROM river_job WHERE state IN ('retryable', 'discarded', 'cancelled') OR errors IS NOT NULL`))
	losers := 0
	for _, replica := range replicas {
		log := replica.stderr.String()
		require.NotContains(t, log, `"ERROR"`)
		require.NotContains(t, log, `"slot failed"`)
		for _, key := range keys {
			losers += strings.Count(log, `"level":"DEBUG","msg":"slot already ran","name":"beat","key":"`+key+`"`)
		}
	}
	require.Equal(t, count(t, db, jobs, keys)-slots, losers, "each job but the first says that it was not")
	require.NotContains(t, fastAPI.String(), "ERROR")
}

// comingKeys are those of the next seconds by the database's clock.
func comingKeys(t *testing.T, db *pgxpool.Pool, n int) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), `
		SELECT to_char(date_trunc('second', now() AT TIME ZONE 'UTC') + n * interval '1 second', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')
		FROM generate_series(1, $1::int) n`, n)
	require.NoError(t, err)
	keys, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return keys
}

// findPython returns a Python that has what the application needs. The one of
// the system comes second: another may be in front of it, with less.
func findPython(t *testing.T) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import fastapi, psycopg, uvicorn").Run() == nil {
			return python
		}
	}
	t.Skip("no Python with FastAPI: apt-get install python3-fastapi python3-psycopg python3-uvicorn")
	return ""
}

// startFastAPI starts the application, waits until all its workers have started
// and returns its log. It ends with the test, and its workers with it.
func startFastAPI(t *testing.T, db *pgxpool.Pool, python string, workers int, keys []string) *output {
	t.Helper()
	log := &output{}
	server := exec.CommandContext(context.Background(), python, "-m", "uvicorn", "startup:app", //nolint:gosec // one of two that are named above
		"--app-dir", "testdata", "--port", "0", "--workers", strconv.Itoa(workers))
	server.Env = append(os.Environ(), "DATABASE_URL="+db.Config().ConnString(), "PYTHONDONTWRITEBYTECODE=1", "SLOTS="+strings.Join(keys, " "))
	server.Stdout, server.Stderr = log, log
	server.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // the workers are processes of its own
	server.WaitDelay = 5 * time.Second
	require.NoError(t, server.Start())
	t.Cleanup(func() {
		_ = syscall.Kill(-server.Process.Pid, syscall.SIGKILL)
		_ = server.Wait()
		if t.Failed() {
			t.Logf("uvicorn:\n%s", log)
		}
	})
	eventually(t, "the application starts", func() bool { return strings.Count(log.String(), "Application startup complete") == workers })
	return log
}
