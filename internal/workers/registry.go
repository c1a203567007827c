package workers

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"github.com/ranura/ranura/internal/periodic"
)

// All is the crontab of the service, in alphabetical order. A new worker is one
// file and one line here.
func All() []Entry {
	return []Entry{
		On(Anniversary{}, periodic.Definition{Cron: "*/15 * * * *", Zone: mexicoCity}),
		On(LeaderboardClose{}, periodic.Definition{Cron: "0 18 * * FRI", Zone: mexicoCity, Key: periodic.ISOWeek}),
		On(SquadHealth{}, periodic.Definition{Cron: "0 8 * * MON", Zone: mexicoCity, Key: periodic.ISOWeek}),
		On(WeeklyDigest{}, periodic.Definition{Cron: "0 9 * * MON", Zone: mexicoCity, Key: periodic.ISOWeek}),
		On(ZombieThreads{}, periodic.Definition{Cron: "*/15 * * * *", Zone: mexicoCity}),
	}
}

// An Entry is a line of the crontab: a worker and when it runs.
type Entry struct {
	worker     Worker
	definition periodic.Definition
	args       func(periodic.Slot) river.JobArgs
	register   func(*river.Workers, periodic.Schedule, *Runner) error
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

// A Registry is a crontab that has been read: every schedule in it is valid,
// every name is unique. It does not change, so anybody may read it at any time.
type Registry struct {
	scheduled []Scheduled
}

// Scheduled is a worker with its parsed schedule.
type Scheduled struct {
	Entry
	periodic.Schedule
}

// NewRegistry reads a crontab. It reports all mistakes at once, each with the
// worker, the expression and the field; with one mistake no worker runs, so
// that none can be missing unnoticed. From now on, the coming slots of every
// schedule must have distinct keys.
func NewRegistry(entries []Entry, now time.Time) (*Registry, error) {
	registry := &Registry{}
	seen := make(map[string]bool, len(entries))
	var mistakes []error
	for _, entry := range entries {
		name := entry.worker.Name()
		if seen[name] {
			mistakes = append(mistakes, fmt.Errorf("schedule %q: two workers have this name", name))
			continue
		}
		seen[name] = true
		scheduled, err := entry.parse(now)
		if err != nil {
			mistakes = append(mistakes, err)
			continue
		}
		registry.scheduled = append(registry.scheduled, scheduled)
	}
	if len(mistakes) > 0 {
		return nil, errors.Join(mistakes...)
	}
	return registry, nil
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
	return Scheduled{e, schedule}, schedule.CheckKeys(now)
}

// Find returns the worker of that name.
func (r *Registry) Find(name string) (Scheduled, error) {
	names := make([]string, 0, len(r.scheduled))
	for _, scheduled := range r.scheduled {
		if scheduled.Name == name {
			return scheduled, nil
		}
		names = append(names, scheduled.Name)
	}
	return Scheduled{}, fmt.Errorf("%w %q: the registry has %s", ErrUnknown, name, strings.Join(names, ", "))
}

// ErrUnknown means that the registry has no schedule of that name.
var ErrUnknown = errors.New("unknown schedule")

// All returns every worker with its schedule, in the order of the crontab.
func (r *Registry) All() []Scheduled { return r.scheduled }

// Schedules returns every schedule, in the order of the crontab.
func (r *Registry) Schedules() []periodic.Schedule {
	schedules := make([]periodic.Schedule, 0, len(r.scheduled))
	for _, scheduled := range r.scheduled {
		schedules = append(schedules, scheduled.Schedule)
	}
	return schedules
}

// LongestTimeout returns the longest that an attempt of any of the workers may
// take, and at least the default: what bounds all of them is computed from it.
func (r *Registry) LongestTimeout() time.Duration {
	longest := periodic.DefaultTimeout
	for _, scheduled := range r.scheduled {
		longest = max(longest, scheduled.Timeout)
	}
	return longest
}

// Entries returns what the timers and catch-up need of every schedule.
func (r *Registry) Entries() []periodic.Entry {
	entries := make([]periodic.Entry, 0, len(r.scheduled))
	for _, scheduled := range r.scheduled {
		entries = append(entries, scheduled.Carrier())
	}
	return entries
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

// RiverWorkers returns River's workers, one for each schedule; they run their
// slots through runner.
func (r *Registry) RiverWorkers(runner *Runner) (*river.Workers, error) {
	workers := river.NewWorkers()
	for _, scheduled := range r.scheduled {
		if err := scheduled.register(workers, scheduled.Schedule, runner); err != nil {
			return nil, fmt.Errorf("register worker %q: %w", scheduled.Name, err)
		}
	}
	return workers, nil
}
