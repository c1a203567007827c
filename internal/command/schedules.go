package command

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

// scheduleState is one line of `app schedules`.
type scheduleState struct {
	Name       string     `json:"name"`
	Cron       string     `json:"cron"`
	Zone       string     `json:"zone"`
	Next       *time.Time `json:"next"`        // nil if there is none, or the schedule is refused
	Last       *time.Time `json:"last"`        // the latest slot that ran
	KnownSince *time.Time `json:"known_since"` // nil before any replica registered it
	State      string     `json:"state"`       // active, new, paused, refused, removed, superseded or not registered
	PausedBy   *string    `json:"paused_by"`
	Reason     *string    `json:"paused_reason"`
	Runs       string     `json:"runs"` // code, sql, or what is enqueued or called
	Note       *string    `json:"note"` // why a stored schedule is refused
}

func (a *app) schedules() *cobra.Command {
	command := &cobra.Command{
		Use:   "schedules",
		Short: "Print every schedule with its next and last slot and its state",
		Example: `  app schedules
  app schedules --json`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			registry, err := a.registry()
			if err != nil {
				return err
			}
			return outcome(withDatabase(cmd.Context(), func(ctx context.Context, db *pgxpool.Pool, _ string) error {
				states, _, err := scheduleStates(ctx, db, registry, "")
				if err != nil {
					return err
				}
				return a.printSchedules(cmd, states)
			}))
		},
	}
	command.Flags().BoolVar(&a.json, "json", false, "print JSON")
	command.AddCommand(a.add(), a.pause(), a.resume(), a.rm(), a.show())
	return command
}

// scheduleStates tells of one schedule, or of all if the name is empty: those of
// the registry in its order, then the stored ones by name.
func scheduleStates(ctx context.Context, db *pgxpool.Pool, registry *workers.Registry, name string) ([]scheduleState, map[string]periodic.Known, error) {
	now, err := periodic.Now(ctx, db)
	if err != nil {
		return nil, nil, err
	}
	known, err := periodic.AllKnown(ctx, db, name)
	if err != nil {
		return nil, nil, err
	}
	states := []scheduleState{} // [] in JSON, not null
	for _, schedule := range registry.Schedules() {
		if name == "" || name == schedule.Name {
			states = append(states, registered(schedule, known, now))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(known)) {
		if k := known[name]; k.Source == periodic.Stored {
			states = append(states, stateOf(k, nil))
		}
	}
	names := make([]string, 0, len(states))
	for _, state := range states {
		names = append(names, state.Name)
	}
	latest, err := claim.Latest(ctx, db, names)
	for i := range states {
		states[i].Last = latest[states[i].Name].Slot
	}
	return states, known, err
}

// registered is the state of a schedule of this binary: its own definition, and
// what the database knows.
func registered(schedule periodic.Schedule, known map[string]periodic.Known, now time.Time) scheduleState {
	state := scheduleState{State: "not registered", Runs: string(periodic.Code)}
	if k, ok := known[schedule.Name]; ok {
		state = stateOf(k, &schedule)
	}
	state.Name, state.Cron, state.Zone, state.Next = schedule.Name, schedule.Cron, schedule.Zone, nil
	if next := schedule.Next(now); !next.IsZero() {
		state.Next = &next
	}
	return state
}

func stateOf(k periodic.Known, mine *periodic.Schedule) scheduleState {
	state := scheduleState{
		Name: k.Name, Cron: k.Cron, Zone: k.Zone, Next: k.NextSlot, KnownSince: &k.Since, State: k.State(mine),
		PausedBy: k.PausedBy, Reason: k.PausedReason, Runs: string(periodic.Code), Note: k.Note,
	}
	if k.Source == periodic.Stored && k.AdoptedAt == nil {
		state.Next = nil // what is due is the adoption
	}
	switch {
	case k.Source == periodic.Code:
	case k.Kind != nil:
		state.Runs = "enqueue " + *k.Kind
	case k.Endpoint != nil:
		state.Runs = "http " + *k.Endpoint + " " + deref(k.Path)
	default:
		state.Runs = "sql"
	}
	return state
}

func (a *app) printSchedules(cmd *cobra.Command, states []scheduleState) error {
	if a.json {
		return printJSON(cmd.OutOrStdout(), states)
	}
	rows := make([][]string, 0, len(states))
	for _, s := range states {
		next, last := "-", "-"
		if s.Next != nil {
			next = instant(*s.Next)
		}
		if s.Last != nil {
			last = instant(*s.Last)
		}
		state := s.State
		if s.Note != nil {
			state += ": " + *s.Note
		}
		rows = append(rows, []string{s.Name, s.Cron, s.Zone, s.Runs, next, last, state})
	}
	return printTable(cmd.OutOrStdout(), []string{"NAME", "CRON", "ZONE", "RUNS", "NEXT", "LAST", "STATE"}, rows)
}
