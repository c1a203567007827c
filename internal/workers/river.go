package workers

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
)

// Args carry a slot through River. The type parameter gives every worker a
// kind of its own; the unique key of the job is the slot's key. Slot is UTC:
// the same instant in another zone would encode differently.
type Args[W Worker] struct {
	Key  string    `json:"key"  river:"unique"`
	Slot time.Time `json:"slot"`
}

// Kind is the worker's name.
func (Args[W]) Kind() string {
	var worker W
	return worker.Name()
}

// riverWorker takes a slot from River into the claim transaction.
type riverWorker[W Worker] struct {
	river.WorkerDefaults[Args[W]]

	worker   W
	schedule periodic.Schedule
	runner   *Runner
}

// Timeout is that of this binary's code, unlike the other rules, which are the
// stored ones: how long work takes is up to the code that does it, and River
// asks before the attempt can read anything. It implements [river.Worker].
func (w *riverWorker[W]) Timeout(*river.Job[Args[W]]) time.Duration { return w.schedule.Timeout }

// Work returns nil for a slot that somebody else has run, or that the rules
// decided against, and the job is completed: there is nothing left to do.
func (w *riverWorker[W]) Work(ctx context.Context, job *river.Job[Args[W]]) error {
	slot := periodic.Slot{Name: w.schedule.Name, Key: job.Args.Key, At: job.Args.Slot.UTC()}
	a := attemptAt(w.worker, w.schedule.Definition, job.JobRow, slot, func(ctx context.Context, tx pgx.Tx) error { return complete(ctx, tx, job) })
	return w.runner.work(ctx, job.JobRow, a, a.wrong(w.schedule))
}

// work makes the attempt that a job asks for, unless it asks for no slot.
func (r *Runner) work(ctx context.Context, job *rivertype.JobRow, a *attempt, wrong error) error {
	if wrong != nil {
		r.Log.WarnContext(ctx, "job cancelled", "name", a.slot.Name, "job", job.ID, "error", wrong)
		r.Metrics.Cancelled(ctx, a.slot.Name)
		return river.JobCancel(wrong)
	}
	if early := a.slot.At.Sub(*job.AttemptedAt); early > 0 { // AttemptedAt is by the database's clock
		return river.JobSnooze(early)
	}
	outcome, err := r.run(ctx, a)
	if outcome == claim.Duplicate { // nobody else passes the turn of a slot that has run meanwhile
		err = a.passTurn(ctx, r.DB, *job.AttemptedAt)
	}
	return r.answer(ctx, job, claim.Key{Name: a.slot.Name, Key: a.key}, spent(job, a.rules.GiveUpAfter), err)
}

// patience is short, because a job that waits holds a worker: a few claims
// that are held would otherwise keep a whole replica from all other slots.
// The job comes back for an answer after again, which is not an attempt.
const (
	patience = 100 * time.Millisecond
	again    = time.Second
)

// attemptAt is the attempt at a slot that a job brings; done completes the job.
func attemptAt(worker Worker, definition periodic.Definition, job *rivertype.JobRow, slot periodic.Slot, done claim.Step) *attempt {
	a := &attempt{
		worker: worker, slot: slot, key: slot.Key, code: definition, rules: rules{Definition: definition},
		meta: claim.Meta{Source: source(job), JobID: job.ID, Attempt: job.Attempt, Patience: patience},
		late: job.AttemptedAt.Sub(slot.At),
	}
	a.admit = func(ctx context.Context, tx pgx.Tx) error { return a.admitAt(ctx, tx, *job.AttemptedAt) }
	a.finish = []claim.Step{done, func(ctx context.Context, tx pgx.Tx) error { return a.passTurn(ctx, tx, *job.AttemptedAt) }}
	return a
}

// wrong says why a job brings no slot of the schedule. What our own timers named
// stands, also under an older definition. Anybody else's must be a slot, or a
// job for any moment of a week would run, and eat, the week's slot.
func (a *attempt) wrong(schedule periodic.Schedule) error {
	switch {
	case a.meta.Source != claim.External && !a.slot.At.IsZero():
		return nil
	case a.slot.Key != schedule.At(a.slot.At).Key:
		return fmt.Errorf("job %d: key %.200q and slot %q do not belong together: insert it with both, as app next --json prints them",
			a.meta.JobID, a.slot.Key, a.slot.At.Format(time.RFC3339Nano))
	case !schedule.Includes(a.slot.At):
		return fmt.Errorf("job %d: %w", a.meta.JobID, notASlot(schedule, a.slot.At))
	}
	return nil
}

// source tells the timers' jobs, which River marks, and the jobs of catch-up
// and backfill, which we mark, from those that somebody else inserted.
func source(job *rivertype.JobRow) claim.Source {
	var marks struct {
		Periodic bool         `json:"periodic"`
		Source   claim.Source `json:"source"`
	}
	switch err := json.Unmarshal(job.Metadata, &marks); {
	case err != nil:
		return claim.External
	case marks.Source == claim.CatchUp, marks.Source == claim.Backfill:
		return marks.Source
	case marks.Periodic:
		return claim.Schedule
	default:
		return claim.External
	}
}
