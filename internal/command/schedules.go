package command

import (
	"context"
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
	Next       time.Time  `json:"next"`
	Last       *time.Time `json:"last"`        // the latest slot that ran
	KnownSince *time.Time `json:"known_since"` // nil before any replica registered it
	State      string     `json:"state"`       // active, paused, removed, superseded or not registered
	PausedBy   *string    `json:"paused_by"`
	Reason     *string    `json:"paused_reason"`
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
				states, err := scheduleStates(ctx, db, registry)
				if err != nil {
					return err
				}
				return a.printSchedules(cmd, states)
			}))
		},
	}
	command.Flags().BoolVar(&a.json, "json", false, "print JSON")
	command.AddCommand(a.pause(), a.resume())
	return command
}

func scheduleStates(ctx context.Context, db *pgxpool.Pool, registry *workers.Registry) ([]scheduleState, error) {
	schedules := registry.Schedules()
	now, err := periodic.Now(ctx, db)
	if err != nil {
		return nil, err
	}
	known, err := periodic.AllKnown(ctx, db)
	if err != nil {
		return nil, err
	}
	names := make([]string, 0, len(schedules))
	for _, schedule := range schedules {
		names = append(names, schedule.Name)
	}
	latest, err := claim.Latest(ctx, db, names)
	if err != nil {
		return nil, err
	}
	states := make([]scheduleState, 0, len(schedules))
	for _, schedule := range schedules {
		state := scheduleState{
			Name: schedule.Name, Cron: schedule.Cron, Zone: schedule.Zone,
			Next: schedule.Next(now), Last: latest[schedule.Name].Slot, State: "not registered",
		}
		if k, ok := known[schedule.Name]; ok {
			state.KnownSince, state.State, state.PausedBy, state.Reason = &k.Since, k.State(schedule), k.PausedBy, k.PausedReason
		}
		states = append(states, state)
	}
	return states, nil
}

func (a *app) printSchedules(cmd *cobra.Command, states []scheduleState) error {
	if a.json {
		return printJSON(cmd.OutOrStdout(), states)
	}
	rows := make([][]string, 0, len(states))
	for _, s := range states {
		last := "-"
		if s.Last != nil {
			last = instant(*s.Last)
		}
		rows = append(rows, []string{s.Name, s.Cron, s.Zone, instant(s.Next), last, s.State})
	}
	return printTable(cmd.OutOrStdout(), []string{"NAME", "CRON", "ZONE", "NEXT", "LAST", "STATE"}, rows)
}
