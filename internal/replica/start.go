package replica

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/migrations"
)

// prepare brings the database to this version's schema. Replicas that start at
// once do it one after the other.
func (r *replica) prepare(ctx context.Context) error {
	current, err := migrations.UpToDate(ctx, r.control)
	if err != nil {
		return err
	}
	if !current {
		applied, err := migrations.Up(ctx, r.control)
		if err != nil {
			return err
		}
		r.Log.Info("migrated", "steps", len(applied))
	}
	if r.catchUp.StartedAt.IsZero() {
		if r.catchUp.StartedAt, err = periodic.Now(ctx, r.control); err != nil {
			return err
		}
	}
	return nil
}

// retryEvery is short enough for a first slot soon after the database is back,
// and long enough for a log that can be read.
const retryEvery = time.Second

// untilDatabase repeats a step while the database is away, as it is during a
// failover or when everything boots at once. Other errors are final: a wrong
// password does not get better.
func (r *replica) untilDatabase(ctx context.Context, step func(context.Context) error) error {
	for {
		err := step(ctx)
		if err == nil || !isAway(err) {
			return err
		}
		r.Log.Warn("the database is away: trying again", "error", err, "every", retryEvery)
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(retryEvery):
		}
	}
}

// isAway reports whether an error will pass when the database is back, or free.
func isAway(err error) bool {
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok {
		return pgerrcode.IsOperatorIntervention(refused.Code) ||
			pgerrcode.IsConnectionException(refused.Code) ||
			pgerrcode.IsTransactionRollback(refused.Code) || // a deadlock
			refused.Code == pgerrcode.LockNotAvailable || // somebody has a row in hand
			refused.Code == pgerrcode.TooManyConnections ||
			refused.Code == pgerrcode.ReadOnlySQLTransaction
	}
	_, unreachable := errors.AsType[*pgconn.ConnectError](err)
	return unreachable || pgconn.Timeout(err) || errors.Is(err, context.DeadlineExceeded)
}

const writableSQL = `SELECT NOT pg_is_in_recovery() AND current_setting('transaction_read_only') = 'off'`

// readyTimeout keeps a probe shorter than the interval between two.
const readyTimeout = 3 * time.Second

var errNotStarted = errors.New("not started yet, or stopping")

// ready reports why the replica cannot do its work, or nil.
func (r *replica) ready(ctx context.Context) error {
	if !r.started.Load() {
		return errNotStarted
	}
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	var writable bool
	if err := r.control.QueryRow(ctx, writableSQL).Scan(&writable); err != nil {
		return fmt.Errorf("ask whether the database is writable: %w", err)
	}
	if !writable {
		return errors.New("the database is read-only")
	}
	current, err := migrations.UpToDate(ctx, r.control)
	if err == nil && !current {
		err = errors.New("the schema is not that of this version: run app migrate up")
	}
	return err
}
