package workers

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
)

// rules are what holds for a slot when it runs: the stored definition of its
// schedule, which may be newer than this binary's.
type rules struct {
	periodic.Definition

	ChangedAt  time.Time // when the definition did
	JobsBefore int64     // the last job that had been enqueued by then
	Paused     bool
}

const rulesSQL = `
SELECT ` + periodic.DefinitionColumns + `, definition_changed_at, jobs_before, paused_at IS NOT NULL
FROM worker_schedules WHERE name = $1`

// read replaces the rules by the stored ones. A schedule that is not stored
// keeps those of the code, and so does an attempt that cannot read.
func (r *rules) read(ctx context.Context, db periodic.DB, name string) error {
	rows, err := db.Query(ctx, rulesSQL, name)
	if err != nil {
		return fmt.Errorf("read the policy of %q: %w", name, err)
	}
	var s rules
	into := append(s.Targets(), &s.ChangedAt, &s.JobsBefore, &s.Paused)
	_, err = pgx.ForEachRow(rows, into, func() error { *r = s; return nil })
	if err != nil {
		return fmt.Errorf("read the policy of %q: %w", name, err)
	}
	return nil
}

// admitAt decides about a slot that a job brings at an instant by the
// database's clock. What an operator asked for is neither paused nor too late.
func (a *attempt) admitAt(ctx context.Context, tx pgx.Tx, now time.Time) error {
	asked := a.meta.Source == claim.Backfill
	superseded, err := a.superseded()
	switch {
	case err != nil:
		return err
	case superseded:
		return claim.Skip(claim.SkippedSuperseded)
	case a.rules.Paused && !asked:
		return claim.Skip(claim.SkippedPaused)
	case now.Sub(a.slot.At) > a.rules.MaxLateness && !asked:
		return claim.Skip(claim.SkippedLate)
	case a.rules.Overlap == periodic.Allow:
		return nil
	}
	if a.rules.Overlap == periodic.Wait { // asked before the turn is tried: who only looks must not be in the oldest's way
		older, err := olderSlots(ctx, tx, a.slot.Name, a.meta.JobID)
		if err == nil && older > 0 {
			err = river.JobSnooze(time.Duration(older) * again)
		}
		if err != nil {
			return err
		}
	}
	free, err := tryTurn(ctx, tx, a.slot.Name)
	switch {
	case err != nil || free:
		return err
	case a.rules.Overlap == periodic.Skip:
		return claim.Skip(claim.SkippedOverlap)
	default:
		return river.JobSnooze(again)
	}
}

// superseded reports whether a timer named a slot that the schedule does not
// have. One that goes by an older definition may, until it hears of the change,
// on a replica whose own definition is the new one. And one whose clock is behind
// may name a slot from before the definition was there: what was owed by then had
// been handed over or settled when it came.
func (a *attempt) superseded() (bool, error) {
	switch {
	case a.meta.Source != claim.Schedule:
		return false, nil
	case !a.slot.At.After(a.rules.ChangedAt):
		return a.meta.JobID > a.rules.JobsBefore, nil
	}
	stored, err := periodic.Parse(a.slot.Name, a.rules.Definition)
	if err != nil {
		return false, err
	}
	return !stored.Includes(a.slot.At), nil
}
