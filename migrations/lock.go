package migrations

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
)

// ErrLocked says that another process held the migration lock for as long as
// the caller was willing to wait.
var ErrLocked = errors.New("another process holds the migration lock")

const (
	lockID     int64 = 0x72616e757261   // "ranura" in ASCII; advisory locks are per database
	lockWait         = time.Minute      // all migrations of both lines take about a second on an empty database
	lockRetry        = time.Second / 10 // what a waiting replica adds to its start at worst
	lockAnswer       = 5 * time.Second  // neither statement waits for anything but the network
)

// underLock runs migrate with a pool of its own while one more connection of
// that pool holds the lock. Closing the pool releases the lock, whatever
// happened; so does the death of the process.
func underLock(ctx context.Context, pool *pgxpool.Pool, migrate func(*pgxpool.Pool) error) error {
	own, err := ownPool(ctx, pool)
	if err != nil {
		return err
	}
	defer own.Close()
	holder, err := own.Acquire(ctx)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer holder.Release()
	if err := lock(ctx, holder); err != nil {
		return err
	}
	return migrate(own)
}

// ownPool connects as pool does, without the limits that suit a job but would
// cut a migration short. DDL still gives up on a lock after 10 s: while it
// waits, everybody who wants the table queues up behind it.
func ownPool(ctx context.Context, pool *pgxpool.Pool) (*pgxpool.Pool, error) {
	config := pool.Config()
	config.AfterConnect = nil // may set a transaction_timeout
	config.MaxConns = 3       // the lock, one migrator, one to spare for database/sql
	config.MinConns, config.MinIdleConns = 0, 0
	params := config.ConnConfig.RuntimeParams
	params["application_name"] = "ranura migrate"
	params["idle_in_transaction_session_timeout"] = "0"
	params["idle_session_timeout"] = "0"
	params["lock_timeout"] = "10s"
	params["statement_timeout"] = "0"
	params["timezone"] = "UTC" // goose stamps its rows with a timestamp without zone
	delete(params, "plan_cache_mode")
	own, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("connect: %w", err)
	}
	return own, nil
}

const tryLock = `SELECT pg_try_advisory_lock($1)`

const lockHolder = `
SELECT coalesce(string_agg(format('%s (%s)', a.pid, a.application_name), ', '), 'unknown')
FROM pg_locks l JOIN pg_stat_activity a USING (pid)
WHERE l.locktype = 'advisory' AND l.granted AND l.objsubid = 1
  AND l.database = (SELECT oid FROM pg_database WHERE datname = current_database())
  AND (l.classid::bigint << 32) | l.objid::bigint = $1`

// lock asks again and again instead of waiting inside pg_advisory_lock: a
// waiting statement holds a snapshot, and a CREATE INDEX CONCURRENTLY of the
// process that migrates would wait for that snapshot, and so for ever.
func lock(ctx context.Context, holder *pgxpool.Conn) error {
	waiting, cancel := context.WithTimeout(ctx, lockWait)
	defer cancel()
	retry := time.NewTicker(lockRetry)
	defer retry.Stop()
	for {
		locked, err := ask[bool](ctx, holder, tryLock)
		if err != nil {
			return fmt.Errorf("take migration lock: %w", err)
		}
		if locked {
			return nil
		}
		select {
		case <-retry.C:
		case <-waiting.Done():
			return lockedError(ctx, holder)
		}
	}
}

// lockedError names the session that holds the lock, so that an operator knows
// what to wait for or to end.
func lockedError(ctx context.Context, holder *pgxpool.Conn) error {
	sessions, err := ask[string](ctx, holder, lockHolder)
	if err != nil {
		return errors.Join(ErrLocked, err)
	}
	return fmt.Errorf("%w: session %s; wait for it, or end it with pg_terminate_backend, and try again", ErrLocked, sessions)
}

// ask has a deadline of its own: ctx ends the waiting between two statements
// and never within one, for that would cost the connection and with it the
// answer to who holds the lock.
func ask[T any](ctx context.Context, holder *pgxpool.Conn, query string) (answer T, err error) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), lockAnswer)
	defer cancel()
	err = holder.QueryRow(ctx, query, lockID).Scan(&answer)
	return answer, err
}
