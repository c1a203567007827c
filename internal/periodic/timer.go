package periodic

import (
	"sync"
	"time"

	"github.com/riverqueue/river"
)

// An Entry is a schedule and the job that carries its slots.
type Entry struct {
	Schedule Schedule
	Args     func(Slot) river.JobArgs
}

// Jobs makes one River periodic job per entry. The leader among the replicas
// runs them: they are the first trigger of a slot and never the guarantee,
// because they live in the leader's memory and die with it.
func Jobs(entries []Entry) []*river.PeriodicJob {
	jobs := make([]*river.PeriodicJob, 0, len(entries))
	for _, entry := range entries {
		jobs = append(jobs, newJob(entry))
	}
	return jobs
}

func newJob(entry Entry) *river.PeriodicJob {
	t := &timer{entry: entry}
	return river.NewPeriodicJob(t, t.job, &river.PeriodicJobOpts{ID: entry.Schedule.Name})
}

// timer remembers the slot that it is armed for. River tells a constructor
// neither which slot fired nor what time it is, and it fires up to 100 ms early
// and arbitrarily late: a slot derived from the clock is then the wrong one,
// and the right one is lost without a word.
//
// River asks for the next instant only after it has constructed the job of the
// last one, so the slot in hand is always the one that fired.
type timer struct {
	entry Entry

	mu    sync.Mutex // a new term of leadership may begin while the old one ends
	armed time.Time
}

// Next arms the timer. It implements [river.PeriodicSchedule].
func (t *timer) Next(current time.Time) time.Time {
	t.mu.Lock()
	defer t.mu.Unlock()
	t.armed = t.entry.Schedule.Next(current)
	return t.armed
}

// job constructs the job of the armed slot. It implements
// [river.PeriodicJobConstructor].
func (t *timer) job() (river.JobArgs, *river.InsertOpts) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.entry.Args(t.entry.Schedule.At(t.armed)), InsertOpts()
}
