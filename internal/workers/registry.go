package workers

import (
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/riverqueue/river"

	"github.com/ranura/ranura/internal/periodic"
)

// All is the crontab of the service, in alphabetical order, and after it what
// runs on demand. A new worker is one file and one line here.
func All() []Entry {
	return []Entry{
		On(Anniversary{}, periodic.Definition{Cron: "*/15 * * * *", Zone: mexicoCity}),
		On(LeaderboardClose{}, periodic.Definition{Cron: "0 18 * * FRI", Zone: mexicoCity, Key: periodic.ISOWeek}),
		On(SquadHealth{}, periodic.Definition{Cron: "0 8 * * MON", Zone: mexicoCity, Key: periodic.ISOWeek}),
		On(WeeklyDigest{}, periodic.Definition{Cron: "0 9 * * MON", Zone: mexicoCity, Key: periodic.ISOWeek}),
		On(ZombieThreads{}, periodic.Definition{Cron: "*/15 * * * *", Zone: mexicoCity}),

		OnDemand(DeliverHTTP{}),
		OnDemand(NotifyMember{}),
		OnDemand(Welcome{}),
	}
}

// A Registry is a crontab that has been read: every schedule in it is valid,
// every name is unique. It does not change, so anybody may read it at any time.
type Registry struct {
	scheduled []Scheduled
	onDemand  []onDemand
}

// NewRegistry reads a crontab. It reports all mistakes at once, each with the
// worker, the expression and the field; with one mistake no worker runs, so
// that none can be missing unnoticed. From now on, the coming slots of every
// schedule must have distinct keys.
func NewRegistry(entries []Entry, now time.Time) (*Registry, error) {
	registry := &Registry{}
	seen := map[string]bool{periodic.StoredKind: true}
	var mistakes []error
	for _, entry := range entries {
		name := entry.name()
		if seen[name] {
			mistakes = append(mistakes, fmt.Errorf("%s %q: two workers have this name", entry.what(), name))
			continue
		}
		seen[name] = true
		if err := registry.add(entry, now); err != nil {
			mistakes = append(mistakes, err)
		}
	}
	if len(mistakes) > 0 {
		return nil, errors.Join(mistakes...)
	}
	return registry, nil
}

func (r *Registry) add(entry Entry, now time.Time) error {
	if entry.onDemand != nil {
		r.onDemand = append(r.onDemand, *entry.onDemand)
		return entry.onDemand.check()
	}
	scheduled, err := entry.parse(now)
	r.scheduled = append(r.scheduled, scheduled)
	return err
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

// RiverWorkers returns River's workers: one for each schedule and task, and one
// for all stored schedules; they run through runner.
func (r *Registry) RiverWorkers(runner *Runner) (*river.Workers, error) {
	workers := river.NewWorkers()
	if err := river.AddWorkerSafely(workers, &riverStored{runner: runner}); err != nil {
		return nil, fmt.Errorf("register stored schedules: %w", err)
	}
	for _, task := range r.onDemand {
		if err := task.register(workers, runner); err != nil {
			return nil, fmt.Errorf("register task %q: %w", task.name, err)
		}
	}
	for _, scheduled := range r.scheduled {
		if err := scheduled.register(workers, scheduled.Schedule, runner); err != nil {
			return nil, fmt.Errorf("register worker %q: %w", scheduled.Name, err)
		}
	}
	return workers, nil
}
