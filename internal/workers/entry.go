package workers

import (
	"fmt"
	"time"

	"github.com/riverqueue/river"

	"github.com/ranura/ranura/internal/periodic"
)

// An Entry is a line of the crontab: a worker and when it runs.
type Entry struct {
	worker     Worker
	definition periodic.Definition
	args       func(periodic.Slot) river.JobArgs
	register   func(*river.Workers, periodic.Schedule, *Runner) error

	onDemand *onDemand // instead of all that
}

// On says when a worker runs.
func On[W Worker](worker W, definition periodic.Definition) Entry {
	return Entry{
		worker:     worker,
		definition: definition,
		args:       func(slot periodic.Slot) river.JobArgs { return Args[W]{Key: slot.Key, Slot: slot.At} },
		register: func(workers *river.Workers, schedule periodic.Schedule, runner *Runner) error {
			return river.AddWorkerSafely(workers, &riverWorker[W]{worker: worker, schedule: schedule, runner: runner})
		},
	}
}

func (e Entry) name() string {
	if e.onDemand != nil {
		return e.onDemand.name
	}
	return e.worker.Name()
}

// what is what an entry is called in an error.
func (e Entry) what() string {
	if e.onDemand != nil {
		return "task"
	}
	return "schedule"
}

// Scheduled is a worker with its parsed schedule.
type Scheduled struct {
	Entry
	periodic.Schedule
}

func (e Entry) parse(now time.Time) (Scheduled, error) {
	name := e.worker.Name()
	if kind := e.args(periodic.Slot{}).Kind(); kind != name {
		return Scheduled{}, fmt.Errorf("schedule %q: the zero value of its worker answers Name with %q: a worker's name is a constant", name, kind)
	}
	schedule, err := periodic.Parse(name, e.definition)
	if err != nil {
		return Scheduled{}, err
	}
	if _, calls := e.worker.(Caller); calls && schedule.Overlap != periodic.Allow {
		return Scheduled{}, fmt.Errorf("schedule %q: Overlap: %q: while its worker calls an endpoint no transaction is open that could "+
			"keep its slots apart: leave it out, and let the endpoint take a lock", name, schedule.Overlap)
	}
	return Scheduled{e, schedule}, schedule.CheckKeys(now)
}

// Auditor returns the worker if its effects can be audited, or nil.
func (s Scheduled) Auditor() Auditor {
	auditor, _ := s.worker.(Auditor)
	return auditor
}

// Carrier returns what carries the schedule's slots to River.
func (s Scheduled) Carrier() periodic.Entry {
	return periodic.Entry{Schedule: s.Schedule, Args: s.args}
}
