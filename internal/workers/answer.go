package workers

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/delivery"
)

// answer is what River is told of an attempt: to come back, to give up on a job
// when an endpoint refuses it for good or the patience with it is spent, or the
// error as it can be stored.
func (r *Runner) answer(ctx context.Context, job *rivertype.JobRow, key claim.Key, spent bool, err error) error {
	if errors.Is(err, claim.ErrHeld) {
		return river.JobSnooze(again)
	}
	failed, called := errors.AsType[*delivery.Error](err)
	switch {
	case called && failed.Final:
		r.Log.ErrorContext(ctx, "gave up", "name", key.Name, "key", key.Key, "attempts", job.Attempt, "error", err)
		return river.JobCancel(err)
	case gaveUp(ctx, job, spent, err):
		r.Log.ErrorContext(ctx, "gave up", "name", key.Name, "key", key.Key, "attempts", job.Attempt, "error", err)
		r.Metrics.gaveUp(ctx, key.Name)
		job.MaxAttempts = job.Attempt // River shares this row, and discards a job that has no attempts left
	case called && failed.RetryAfter > 0:
		job.ScheduledAt = job.AttemptedAt.Add(failed.RetryAfter) // the row again: see [RetryPolicy]
	}
	return storable(err)
}

// gaveUp reports whether a failure is the job's last: the patience with it is
// spent, or it has no attempts left. A stop of the replica and what the worker
// asks of River (to snooze, to cancel) are no failures.
func gaveUp(ctx context.Context, job *rivertype.JobRow, spent bool, err error) bool {
	_, cancelled := errors.AsType[*rivertype.JobCancelError](err)
	if err == nil || cancelled || waits(err) || errors.Is(ctx.Err(), context.Canceled) {
		return false
	}
	return spent || job.Attempt >= job.MaxAttempts
}

// spent reports whether a job has been failing for longer than there is patience
// with it. A job that has waited so long, for a replica or for its turn, has
// not failed.
func spent(job *rivertype.JobRow, patience time.Duration) bool {
	return len(job.Errors) > 0 && job.AttemptedAt.Sub(job.Errors[0].At) > patience
}

// complete finishes the job in the claim transaction. JobCompleteTx reports no
// error for a job that is no longer ours: rescued, discarded, or at work in
// another attempt. So the row must be completed and of this attempt, otherwise
// everything rolls back and the claim is left to whoever has the job now.
func complete[A river.JobArgs](ctx context.Context, tx pgx.Tx, job *river.Job[A]) error {
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

// storable makes an error one that River can keep. It keeps the text as jsonb,
// which has no NUL: the job would stay running until it is rescued, and fail
// so again.
func storable(err error) error {
	if err == nil || !strings.Contains(err.Error(), "\x00") {
		return err
	}
	return &cleanError{err}
}

type cleanError struct{ error }

func (e *cleanError) Error() string { return strings.ReplaceAll(e.error.Error(), "\x00", `\x00`) }
func (e *cleanError) Unwrap() error { return e.error }
