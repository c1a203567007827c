package workers

import (
	"context"
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

	worker W
	runner *Runner
}

// Work returns nil for a slot that somebody else has run, and River completes
// the job as a no-op: the claim decided, there is nothing left to do.
func (w *riverWorker[W]) Work(ctx context.Context, job *river.Job[Args[W]]) error {
	slot := periodic.Slot{Name: w.worker.Name(), Key: job.Args.Key, At: job.Args.Slot.UTC()}
	if slot.Key == "" || slot.At.IsZero() {
		return river.JobCancel(fmt.Errorf("job %d: its arguments name no slot: insert it with \"key\" and \"slot\"", job.ID))
	}
	meta := claim.Meta{Source: claim.Schedule, JobID: job.ID, Attempt: job.Attempt}
	_, err := w.runner.run(ctx, w.worker, slot, slot.Key, meta, func(ctx context.Context, tx pgx.Tx) error {
		return complete(ctx, tx, job)
	})
	return err
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
