package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
)

// Lookup returns the schedule of that name: the registry's, or a stored one.
func (r *Registry) Lookup(ctx context.Context, db periodic.DB, name string) (Scheduled, error) {
	scheduled, unknown := r.Find(name)
	if unknown == nil {
		return scheduled, nil
	}
	kept, err := periodic.FindStored(ctx, db, name)
	if errors.Is(err, periodic.ErrNotStored) {
		return Scheduled{}, fmt.Errorf("%w; and none of that name is stored", unknown)
	}
	return Scheduled{Entry{worker: workerOf(kept), args: periodic.StoredJob}, kept.Schedule}, err
}

// workerOf is the worker that does what a stored schedule says.
func workerOf(kept periodic.Kept) Worker {
	switch {
	case kept.SQL != "":
		return statement{name: kept.Name, sql: kept.SQL, timeout: kept.Timeout}
	case kept.Kind != "":
		return enqueuing{name: kept.Name, kind: kept.Kind, args: kept.Args}
	default:
		return calling{name: kept.Name, DeliverHTTP: DeliverHTTP{Endpoint: kept.Endpoint, Path: kept.Path, Body: json.RawMessage(kept.Body)}}
	}
}

// riverStored takes the slots of all stored schedules from River into the claim
// transaction.
type riverStored struct {
	river.WorkerDefaults[periodic.StoredArgs]

	runner *Runner
}

// askTimeout bounds what River waits for an answer that has no context.
const askTimeout = 5 * time.Second

// Timeout is the schedule's own, as it is stored now: River asks before each
// attempt, and before it takes a job that is long at work for lost. It
// implements [river.Worker].
func (w *riverStored) Timeout(job *river.Job[periodic.StoredArgs]) time.Duration {
	ctx, cancel := context.WithTimeout(context.Background(), askTimeout)
	defer cancel()
	kept, err := periodic.FindStored(ctx, w.runner.DB, job.Args.Name)
	if err != nil {
		return periodic.DefaultTimeout // the attempt will meet the same error
	}
	return kept.Timeout
}

// Work ends a slot whose schedule has been removed as superseded: also if one of
// the same name has been added since, which owes nothing from before.
func (w *riverStored) Work(ctx context.Context, job *river.Job[periodic.StoredArgs]) error {
	kept, err := periodic.FindStored(ctx, w.runner.DB, job.Args.Name)
	gone := errors.Is(err, periodic.ErrNotStored)
	switch {
	case gone && source(job.JobRow) == claim.External:
		w.runner.Metrics.Cancelled(ctx, periodic.StoredKind)
		return river.JobCancel(fmt.Errorf("job %d: %w: %.100q", job.ID, err, job.Args.Name))
	case err != nil && !gone:
		return err
	}
	slot := periodic.Slot{Name: job.Args.Name, Key: job.Args.Key, At: job.Args.Slot.UTC()}
	a := attemptAt(workerOf(kept), kept.Definition, job.JobRow, slot, func(ctx context.Context, tx pgx.Tx) error { return complete(ctx, tx, job) })
	if gone || slot.At.Before(kept.Since) && a.meta.Source != claim.Backfill {
		a.admit = func(context.Context, pgx.Tx) error { return claim.Skip(claim.SkippedSuperseded) }
		a.series = periodic.StoredKind // not a name that only the job has
		return w.runner.work(ctx, job.JobRow, a, nil)
	}
	return w.runner.work(ctx, job.JobRow, a, a.wrong(kept.Schedule))
}
