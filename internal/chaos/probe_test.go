package chaos

import (
	"context"
	cryptorand "crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

const (
	partsOfAnEffect = 3
	accounts        = 64 // the first two are for those that clash
	initialBalance  = 1000
)

// tablesSQL has no unique constraint on effects, so that a double run shows.
const tablesSQL = `
CREATE TABLE effects (
    name text NOT NULL, key text NOT NULL, slot timestamptz NOT NULL,
    nonce text NOT NULL, part integer NOT NULL, xid text NOT NULL DEFAULT pg_current_xact_id()::text,
    written_at timestamptz NOT NULL DEFAULT clock_timestamp()
);
CREATE TABLE balances (account integer PRIMARY KEY, amount bigint NOT NULL) WITH (fillfactor = 50);
INSERT INTO balances SELECT account, 1000 FROM generate_series(1, 64) account`

// probe is the worker of every schedule of the suite. It writes down that it
// begins, outside the database and before its first statement; the replica's
// own log, in the same file, tells how the attempt ended.
type probe[T described] struct{}

func (probe[T]) Name() string {
	var t T
	return t.traits().name
}

// journal is standard error, where the replica's log goes as well.
var journal = slog.New(slog.NewJSONHandler(os.Stderr, nil))

// probeBegan is the message by which the history finds an invocation.
const probeBegan = "probe began"

var errOnPurpose = errors.New("fails on purpose")

const effectSQL = `
INSERT INTO effects (name, key, slot, nonce, part)
SELECT $1, $2, $3, $4, part FROM generate_series(1, $5) part`

func (probe[T]) Run(ctx context.Context, tx pgx.Tx, slot periodic.Slot) error {
	var t T
	traits, nonce := t.traits(), cryptorand.Text()
	journal.InfoContext(ctx, probeBegan, "name", slot.Name, "key", slot.Key, "nonce", nonce)

	if _, err := tx.Exec(ctx, effectSQL, slot.Name, slot.Key, slot.At, nonce, partsOfAnEffect); err != nil {
		return fmt.Errorf("write effect: %w", err)
	}
	if err := traits.work(ctx, tx); err != nil {
		return fmt.Errorf("work: %w", err)
	}
	if traits.enqueues {
		if err := enqueueFollower(ctx, tx, slot); err != nil {
			return fmt.Errorf("enqueue follower: %w", err)
		}
	}
	if rand.Float64() < traits.fails {
		return errOnPurpose
	}
	return traits.transfer(ctx, tx)
}

const sleepSQL = `SELECT pg_sleep($1)`

func (t traits) work(ctx context.Context, tx pgx.Tx) error {
	if t.takes == 0 {
		return nil
	}
	if t.waiting {
		return pause(ctx, t.takes)
	}
	_, err := tx.Exec(ctx, sleepSQL, t.takes.Seconds())
	return err
}

// pause waits, or returns early with the context's error.
func pause(ctx context.Context, d time.Duration) error {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-timer.C:
		return nil
	case <-ctx.Done():
		return ctx.Err()
	}
}

func enqueueFollower(ctx context.Context, tx pgx.Tx, slot periodic.Slot) error {
	client, err := river.NewClient(riverpgxv5.New(nil), &river.Config{})
	if err != nil {
		return err
	}
	_, err = client.InsertTx(ctx, tx, workers.Args[probe[follows]]{Key: slot.Key, Slot: slot.At}, periodic.InsertOpts())
	return err
}

const payInSQL = `UPDATE balances SET amount = amount + $2 WHERE account = $1`

// transfer moves money between two accounts; the sum never changes. It comes
// last, so that the rows are locked for as short as possible, except by those
// that are to deadlock.
func (t traits) transfer(ctx context.Context, tx pgx.Tx) error {
	from := 3 + rand.IntN(accounts-2)
	to := 3 + (from-2)%(accounts-2)
	accounts := [2]int{min(from, to), max(from, to)}
	if t.clash != 0 {
		accounts = map[int][2]int{1: {1, 2}, -1: {2, 1}}[t.clash]
	}
	for i, account := range accounts {
		if t.clash != 0 && i == 1 {
			if err := pause(ctx, 300*time.Millisecond); err != nil {
				return err
			}
		}
		if _, err := tx.Exec(ctx, payInSQL, account, 1-2*i); err != nil {
			return fmt.Errorf("transfer: %w", err)
		}
	}
	return nil
}
