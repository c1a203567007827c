package workers

import (
	"fmt"

	"github.com/riverqueue/river"

	"github.com/ranura/ranura/internal/periodic"
)

// onDemand is a task in the registry.
type onDemand struct {
	name     string
	kind     string // what River asks the zero value for
	register func(*river.Workers, *Runner) error
}

// OnDemand says that a worker runs when a transaction asks for it.
func OnDemand[T Task](task T) Entry {
	return Entry{onDemand: &onDemand{
		name: task.Name(),
		kind: taskArgs[T]{}.Kind(),
		register: func(workers *river.Workers, runner *Runner) error {
			return river.AddWorkerSafely(workers, &riverTask[T]{runner: runner})
		},
	}}
}

func (d onDemand) check() error {
	if err := periodic.CheckName(d.name); err != nil {
		return fmt.Errorf("task %.100q: %w", d.name, err)
	}
	if d.kind != d.name {
		return fmt.Errorf("task %q: its zero value answers Name with %q: a worker's name is a constant", d.name, d.kind)
	}
	return nil
}
