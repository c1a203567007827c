package periodic

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
)

// CatchUp makes sure that no slot is lost: it compares the schedules with what
// has run and enqueues what is missing. Every replica has one; it needs no
// leader, and asks the database what time it is. It carries the schedules of
// its own registry and leaves those of other services to them.
type CatchUp struct {
	DB        *pgxpool.Pool
	Client    *river.Client[pgx.Tx]
	Entries   []Entry
	Replica   string
	Service   string    // of the services that share the database
	StartedAt time.Time // by the database's clock: of two definitions, the one of the newer replica counts
	Log       *slog.Logger
	Metrics   *Metrics // or nil
	Round     func()   // called before every pass, or nil

	// Vet says what is wrong with a new action of a stored schedule, whichever
	// replica runs it; an error is one that may pass. nil finds nothing wrong.
	Vet func(context.Context, pgx.Tx, Action) (wrong string, err error)

	followed map[string]Schedule // what the timers go by; see follow
	patience time.Duration       // how long a slot of the code is left to the timers
}

// A Pass is what one pass did.
type Pass struct {
	Schedules int       // looked at
	Enqueued  int       // jobs that were missing
	Skipped   int64     // slots that the policy dropped, recorded as skips
	Failed    int       // schedules to look at again at once
	Now       time.Time // the database's clock, at the start of the pass
	Next      time.Time // the next slot that a timer has first; zero if there is none
	Changed   time.Time // when a definition of the code changed last

	Stored     int       // of the schedules, those that are stored
	NextStored time.Time // the next slot of any of them; zero if there is none

	skips []skip // of one schedule, for the metrics
}

func (p *Pass) add(one Pass) {
	p.Schedules += one.Schedules
	p.Enqueued += one.Enqueued
	p.Skipped += one.Skipped
	p.Failed += one.Failed
	p.Stored += one.Stored
	p.Next = earlier(p.Next, one.Next)
}

// earlier ignores the zero time, which is no instant.
func earlier(a, b time.Time) time.Time {
	if a.IsZero() || !b.IsZero() && b.Before(a) {
		return b
	}
	return a
}

// RunOnce makes one pass over the schedules that have a slot due: each of the
// registry's in a transaction of its own, the stored ones many at a time. Any
// number of replicas may do so at once: a schedule that another one has in hand
// is left to it. A schedule that fails does not keep the others from their
// slots; the error tells of all that failed.
func (c *CatchUp) RunOnce(ctx context.Context) (Pass, error) {
	entries := make(map[string]Entry, len(c.Entries))
	for _, entry := range c.Entries {
		entries[entry.Schedule.Name] = entry
	}
	pass, names, err := c.due(ctx)
	if err != nil {
		return pass, err
	}
	failed := c.passStored(ctx, &pass)
	for _, name := range names {
		entry, ours := entries[name]
		if !ours {
			continue
		}
		one, err := c.visit(ctx, entry, pass.Now)
		if err != nil {
			one.Failed, failed = 1, errors.Join(failed, fmt.Errorf("catch up %q: %w", name, err))
		} else {
			c.Metrics.passed(ctx, name, one)
		}
		pass.add(one)
	}
	return pass, failed
}

// impatientSQL: an insert that meets a job which a worker is just completing
// would wait for it. The next pass is soon enough.
const impatientSQL = `SELECT set_config('lock_timeout', '2s', true)`

func (c *CatchUp) visit(ctx context.Context, entry Entry, seen time.Time) (pass Pass, err error) {
	err = pgx.BeginTxFunc(ctx, c.DB, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		if _, err := tx.Exec(ctx, impatientSQL); err != nil {
			return err
		}
		row, err := lockIfFree(ctx, tx, entry.Schedule.Name)
		if err != nil {
			return err
		}
		if row == nil {
			pass.Next = seen // somebody else is at it: look again after a while
			return nil
		}
		if row.removedAt != nil {
			return nil
		}
		if row.source == Stored {
			pass, err = c.visitStored(ctx, tx, row)
			return err
		}
		if entry.Schedule, err = row.schedule(entry.Schedule); err != nil {
			return err
		}
		pass, err = c.resolve(ctx, tx, entry, row)
		return err
	})
	return pass, err
}

// schedule is the stored definition, parsed: the one in hand if it is the same.
func (s *stored) schedule(inHand Schedule) (Schedule, error) {
	if s.Definition == inHand.Definition {
		return inHand, nil
	}
	return Parse(inHand.Name, s.Definition)
}
