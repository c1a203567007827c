package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"syscall"
	"time"
)

// databaseFaults are done to Postgres.
func databaseFaults() []fault {
	return []fault{
		{kind: "terminate all", strike: execute("sessions", terminateAllSQL)},
		{kind: "terminate some", lasts: 4 * second, strike: repeatedly("sessions", terminateOneSQL, 300*time.Millisecond)},
		{kind: "crash Postgres", lasts: second, strike: crash},
		{kind: "read-only 60 s", lasts: 60 * second, long: true, strike: readOnly},
		{kind: "lock 10 s", lasts: 10 * second, strike: lockTable},
		{kind: "reindex", lasts: 5 * second, strike: repeatedly("unique index", reindexSQL, 100*time.Millisecond)},
		{kind: "cleaner 1 s", lasts: 5 * second, strike: repeatedly("jobs", cleanSQL, time.Second)},
	}
}

const (
	terminateAllSQL = `
SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE application_name LIKE 'ranura/%'`

	terminateOneSQL = `
SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE application_name LIKE 'ranura/%' ORDER BY random() LIMIT 1`

	reindexSQL = `REINDEX INDEX CONCURRENTLY river_job_unique_idx`

	// cleanSQL is River's cleaner with a retention of one second.
	cleanSQL = `DELETE FROM river_job WHERE state = 'completed' AND finalized_at < now() - interval '1 second'`
)

func execute(target, sql string) func(context.Context, *cluster, *rand.Rand) (string, heal, error) {
	return func(ctx context.Context, c *cluster, _ *rand.Rand) (string, heal, error) {
		_, err := c.db.Exec(ctx, sql)
		return target, nil, err
	}
}

// repeatedly executes until the fault is healed. An error is part of the game.
func repeatedly(target, sql string, every time.Duration) func(context.Context, *cluster, *rand.Rand) (string, heal, error) {
	return func(ctx context.Context, c *cluster, _ *rand.Rand) (string, heal, error) {
		ctx, cancel := context.WithCancel(ctx)
		done := make(chan struct{})
		go func() {
			defer close(done)
			for ctx.Err() == nil {
				_, _ = c.db.Exec(ctx, sql)
				_ = pause(ctx, every)
			}
		}()
		return target, func(context.Context) error {
			cancel()
			<-done
			return nil
		}, nil
	}
}

const pidSQL = `SELECT pg_backend_pid()`

// crash kills a server process of the suite's own. Postgres then does what it
// does after an immediate stop: it throws out every session, empties unlogged
// tables and replays its log.
func crash(ctx context.Context, c *cluster, _ *rand.Rand) (string, heal, error) {
	var pid int
	if err := c.db.QueryRow(ctx, pidSQL).Scan(&pid); err != nil {
		return "server", nil, err
	}
	return "server", nil, syscall.Kill(pid, syscall.SIGKILL)
}

const (
	readOnlySQL = `ALTER SYSTEM SET default_transaction_read_only = on`
	writableSQL = `ALTER SYSTEM RESET default_transaction_read_only`
	reloadSQL   = `SELECT pg_reload_conf()`
)

func readOnly(ctx context.Context, c *cluster, _ *rand.Rand) (string, heal, error) {
	return "server", func(ctx context.Context) error { return c.insist(ctx, writableSQL, reloadSQL) },
		c.insist(ctx, readOnlySQL, reloadSQL)
}

// insist executes statements until they succeed: other faults go on meanwhile.
func (c *cluster) insist(ctx context.Context, statements ...string) error {
	for _, sql := range statements {
		for try := 0; ; try++ {
			_, err := c.db.Exec(ctx, sql)
			if err == nil {
				break
			}
			if try == 100 {
				return err
			}
			_ = pause(ctx, 200*time.Millisecond)
		}
	}
	return nil
}

// lockSQLs are not built from strings, and so are written out.
var lockSQLs = map[string]string{
	"effects":          `LOCK TABLE effects IN ACCESS EXCLUSIVE MODE`,
	"river_job":        `LOCK TABLE river_job IN ACCESS EXCLUSIVE MODE`,
	"worker_runs":      `LOCK TABLE worker_runs IN ACCESS EXCLUSIVE MODE`,
	"worker_schedules": `LOCK TABLE worker_schedules IN ACCESS EXCLUSIVE MODE`,
}

func lockTable(ctx context.Context, c *cluster, dice *rand.Rand) (string, heal, error) {
	table := []string{"effects", "river_job", "worker_runs", "worker_schedules"}[dice.IntN(len(lockSQLs))]
	tx, err := c.db.Begin(ctx)
	if err != nil {
		return table, nil, err
	}
	if _, err := tx.Exec(ctx, lockSQLs[table]); err != nil {
		return table, nil, fmt.Errorf("lock: %w", errors.Join(err, tx.Rollback(ctx)))
	}
	return table, func(ctx context.Context) error { _ = tx.Rollback(ctx); return nil }, nil
}
