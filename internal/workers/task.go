package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/ranura/ranura/internal/claim"
)

// A Task is a worker without a schedule: it runs when a transaction asks for
// it, see [Enqueue]. The fields are the arguments of its job, in JSON.
//
// Run keeps to what [Worker] says of it. To give up at once, on what no retry
// can mend, it returns [river.JobCancel].
//
// A Task is a value type: the zero value must answer Name.
type Task interface {
	// Name is the River kind and the claim's name. It never changes once deployed.
	Name() string
	Run(ctx context.Context, tx pgx.Tx) error
}

// taskGiveUpAfter is how long a failing task is tried, from its first failure:
// as long as a slot by default, and a job may have been enqueued days ahead.
const taskGiveUpAfter = 24 * time.Hour

// taskArgs carry a task through River, unread: what cannot be read is for the
// worker to cancel, where River would try it again.
type taskArgs[T Task] struct{ json.RawMessage }

// Kind is the task's name.
func (taskArgs[T]) Kind() string {
	var task T
	return task.Name()
}

// riverTask takes a task from River into the claim transaction.
type riverTask[T Task] struct {
	river.WorkerDefaults[taskArgs[T]]

	runner *Runner
}

// Work returns nil for a task that has run under its key before, and the job is
// completed: there is nothing left to do.
func (w *riverTask[T]) Work(ctx context.Context, job *river.Job[taskArgs[T]]) error {
	key := claim.Key{Name: job.Kind, Key: taskKey(job.JobRow)}
	meta := claim.Meta{Source: claim.External, JobID: job.ID, Attempt: job.Attempt, Replica: w.runner.Replica, Patience: patience}
	var task T
	read := func(context.Context, pgx.Tx) error {
		if string(job.Args.RawMessage) == "null" { // which json takes for an empty task
			return river.JobCancel(errors.New("args: must be an object"))
		}
		if err := json.Unmarshal(job.Args.RawMessage, &task); err != nil {
			return river.JobCancel(unreadable(err))
		}
		return nil
	}
	err := w.runner.runTask(ctx, callOf(&task, key, read), key, meta,
		func(ctx context.Context, tx pgx.Tx) error {
			if err := read(ctx, tx); err != nil {
				return err
			}
			return task.Run(ctx, tx)
		},
		func(ctx context.Context, tx pgx.Tx) error { return complete(ctx, tx, job) })

	return w.runner.answer(ctx, job.JobRow, key, spent(job.JobRow, taskGiveUpAfter), err)
}

// taskKey is the key that the job was enqueued with. A job without one is an
// identity of its own; its id alone is not, where a table was emptied.
func taskKey(job *rivertype.JobRow) string {
	var marks struct {
		DedupeKey string `json:"dedupe_key"`
	}
	if err := json.Unmarshal(job.Metadata, &marks); err == nil && marks.DedupeKey != "" {
		return marks.DedupeKey
	}
	return fmt.Sprintf("job %d %s", job.ID, job.CreatedAt.UTC().Format(time.RFC3339Nano))
}

// unreadable names the field at fault and not its value, which may be a secret.
func unreadable(err error) error {
	if mismatch, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		return fmt.Errorf("args: %q must be of type %s", mismatch.Field, mismatch.Type)
	}
	return errors.New("args: cannot be read")
}

// runTask makes an attempt at a task, with a call or without, and writes its one
// line to the log.
func (r *Runner) runTask(ctx context.Context, c *call, key claim.Key, meta claim.Meta, work, finish claim.Step) error {
	var outcome claim.Outcome
	var err error
	if c != nil {
		outcome, err = r.call(ctx, *c, key, meta, work, finish)
	} else {
		outcome, err = claim.Run(ctx, r.DB, key, meta, work, finish)
	}

	log := r.Log.With("name", key.Name, "key", key.Key, "job", meta.JobID, "attempt", meta.Attempt, "replica", r.Replica)
	if panicked, ok := errors.AsType[*claim.PanicError](err); ok {
		log = log.With("stack", panicked.Stack)
	}
	_, cancelled := errors.AsType[*rivertype.JobCancelError](err)
	r.Metrics.ended(ctx, key.Name, outcome, err)
	switch {
	case waits(err):
		log.DebugContext(ctx, "job waits", "reason", err)
	case cancelled:
		log.WarnContext(ctx, "job cancelled", "error", err)
	case err != nil:
		log.WarnContext(ctx, "job failed", "error", err)
	case outcome == claim.Duplicate:
		log.DebugContext(ctx, "job already ran")
	default:
		log.InfoContext(ctx, "job ran")
	}
	return err
}
