package python_test

import (
	"context"
	"os/exec"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
	"github.com/ranura/ranura/internal/workers"
)

const (
	times     = 100
	dedupeKey = "🎉 <b>&" // what JSON encoders write differently
)

// TestOneKeyFromGoPythonAndSQL is case F3: the three enqueue the same key at
// once, and it is one job that runs once.
func TestOneKeyFromGoPythonAndSQL(t *testing.T) {
	t.Parallel()
	python := interpreter(t, "psycopg")
	db := postgrestest.New(t)
	url := "DATABASE_URL=" + db.Config().ConnString()
	startReplica(t, "A", url)
	_, err := db.Exec(t.Context(), `INSERT INTO members (id, handle, name, joined_on) VALUES (7, 'ana', 'Ana', '2026-05-29')`)
	require.NoError(t, err)

	group, ctx := errgroup.WithContext(t.Context())
	group.SetLimit(8)
	group.Go(func() error {
		script := exec.CommandContext(ctx, python, "tests/enqueue_many.py", dedupeKey)
		script.Env = append(script.Environ(), url, "PYTHONPATH=.", "PYTHONDONTWRITEBYTECODE=1")
		return script.Run()
	})
	for range times {
		group.Go(func() error { return enqueueInGo(ctx, db) })
		group.Go(func() error {
			_, err := db.Exec(ctx, `SELECT enqueue_job('welcome', '{"member_id": 7}', dedupe_key => $1)`, dedupeKey)
			return err
		})
	}
	require.NoError(t, group.Wait())

	const runsSQL = `SELECT count(*) FROM worker_runs WHERE name = 'welcome' AND key = $1`
	require.Eventually(t, func() bool { return one(t, db, runsSQL, dedupeKey) }, time.Minute, 20*time.Millisecond)
	require.True(t, one(t, db, `SELECT count(*) FROM river_job WHERE kind = 'welcome'`))
	require.True(t, one(t, db, `SELECT count(*) FROM notifications WHERE kind = 'welcome'`))
}

func enqueueInGo(ctx context.Context, db *pgxpool.Pool) error {
	return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
		_, err := workers.Enqueue(ctx, tx, workers.Welcome{MemberID: 7}, workers.EnqueueOpts{DedupeKey: dedupeKey})
		return err
	})
}

func one(t *testing.T, db *pgxpool.Pool, countSQL string, args ...any) bool {
	t.Helper()
	var n int
	require.NoError(t, db.QueryRow(t.Context(), countSQL, args...).Scan(&n))
	return n == 1
}
