package workers

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
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

// Work returns nil for a slot that somebody else has run, and River completes
// the job as a no-op: the claim decided, there is nothing left to do.
func (w *riverWorker[W]) Work(ctx context.Context, job *river.Job[Args[W]]) error {
	slot := w.schedule.At(job.Args.Slot)
	if job.Args.Slot.IsZero() || job.Args.Key != slot.Key {
		return river.JobCancel(fmt.Errorf("job %d: key %q and slot %q do not belong together: insert it with both, as app next --json prints them",
			job.ID, job.Args.Key, job.Args.Slot.Format(time.RFC3339)))
	}
	if early := slot.At.Sub(*job.AttemptedAt); early > 0 { // AttemptedAt is by the database's clock
		return river.JobSnooze(early)
	}
	meta := claim.Meta{Source: source(job.JobRow), JobID: job.ID, Attempt: job.Attempt}
	_, err := w.runner.run(ctx, w.worker, slot, slot.Key, meta, func(ctx context.Context, tx pgx.Tx) error {
		return complete(ctx, tx, job)
	})
	return err
}

// source tells the timers' jobs from those that somebody else inserted. River
// marks the former.
func source(job *rivertype.JobRow) claim.Source {
	var marks struct {
		Periodic bool `json:"periodic"`
	}
	if err := json.Unmarshal(job.Metadata, &marks); err != nil || !marks.Periodic {
		return claim.External
	}
	return claim.Schedule
}

// complete finishes the job in the claim transaction. JobCompleteTx reports no
// error for a job that is no longer ours: rescued, discarded, or at work in
// another attempt. So the row must be completed and of this attempt, otherwise
// everything rolls back and the claim is left to whoever has the job now.
func complete[W Worker](ctx context.Context, tx pgx.Tx, job *river.Job[Args[W]]) error {
	done, err := river.JobCompleteTx[*riverpgxv5.Driver](ctx, tx, job)
	if err != nil {
		return fmt.Errorf("complete job %d: %w", job.ID, err)
	}
	if done.State != rivertype.JobStateCompleted || done.Attempt != job.Attempt {
		return fmt.Errorf("complete job %d: it is %s in attempt %d and no longer ours (attempt %d)",
			job.ID, done.State, done.Attempt, job.Attempt)
	}
	return nil
}
