package workers

import (
	"math/rand/v2"
	"time"

	"github.com/riverqueue/river/rivertype"
)

// RetryPolicy says when a failed slot is tried again: after about a second, and
// after each further failure twice as long, up to ten minutes, so that a fault
// that lasts a night costs minutes in the morning and not hours. How long it
// goes on is up to the schedule's GiveUpAfter. It implements
// [river.ClientRetryPolicy].
type RetryPolicy struct {
	Now func() time.Time // this process's clock: River refuses a time before it
}

const (
	firstDelay = time.Second
	maxDelay   = 10 * time.Minute
	doublings  = 10 // firstDelay doubled so often is more than maxDelay
)

// NextRetry waits between half and all of the delay, by chance: slots that
// failed together do not come back together. An attempt that was told to come
// later has scheduled its job for after itself, and its retry waits so long.
func (p RetryPolicy) NextRetry(job *rivertype.JobRow) time.Time {
	delay := min(firstDelay<<min(len(job.Errors), doublings), maxDelay)
	told := job.ScheduledAt.Sub(*job.AttemptedAt)
	return p.Now().Add(max(told, delay/2+rand.N(delay/2)))
}
