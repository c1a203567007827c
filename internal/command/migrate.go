package command

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/ranura/ranura/migrations"
)

func (a *app) migrate() *cobra.Command {
	command := &cobra.Command{
		Use:   "migrate",
		Short: "Bring the database to this version's schema, or take it away",
		Long: `Bring the database to this version's schema, or take it away: River's
migrations and ours, under one lock, so that any number of processes may
start at once.`,
		Example: `  app migrate up
  app migrate status --json`,
	}
	command.AddCommand(
		steps("up", "Apply what is missing", migrations.Up, "applied"),
		steps("down", "Revert everything: all claims, jobs and members are deleted", migrations.Down, "reverted"),
		a.migrateStatus(),
	)
	return command
}

type migration func(context.Context, *pgxpool.Pool) ([]migrations.Applied, error)

func steps(use, short string, do migration, done string) *cobra.Command {
	return &cobra.Command{
		Use:   use,
		Short: short,
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return outcome(withDatabase(cmd.Context(), func(ctx context.Context, db *pgxpool.Pool, _ string) error {
				applied, err := do(ctx, db)
				for _, step := range applied {
					fmt.Fprintf(cmd.OutOrStdout(), "%s %s %d %s (%s)\n", done, step.Line, step.Version, step.Name, step.Took.Round(time.Millisecond))
				}
				if err == nil && len(applied) == 0 {
					fmt.Fprintln(cmd.OutOrStdout(), "nothing to do")
				}
				return err
			}))
		},
	}
}

// migrationState is one line of `app migrate status`.
type migrationState struct {
	Line      string     `json:"line"`
	Version   int        `json:"version"`
	Name      string     `json:"name"`       // empty: a newer version's
	AppliedAt *time.Time `json:"applied_at"` // nil: pending
}

func (a *app) migrateStatus() *cobra.Command {
	command := &cobra.Command{
		Use:   "status",
		Short: "Print every migration and when it was applied",
		Args:  cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return outcome(withDatabase(cmd.Context(), func(ctx context.Context, db *pgxpool.Pool, _ string) error {
				known, err := migrations.Status(ctx, db)
				if err != nil {
					return err
				}
				states := make([]migrationState, 0, len(known))
				for _, k := range known {
					state := migrationState{Line: k.Line, Version: k.Version, Name: k.Name}
					if !k.AppliedAt.IsZero() {
						state.AppliedAt = &k.AppliedAt
					}
					states = append(states, state)
				}
				return a.printMigrations(cmd, states)
			}))
		},
	}
	command.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return command
}

func (a *app) printMigrations(cmd *cobra.Command, states []migrationState) error {
	if a.json {
		return printJSON(cmd.OutOrStdout(), states)
	}
	rows := make([][]string, 0, len(states))
	for _, s := range states {
		applied := "pending"
		if s.AppliedAt != nil {
			applied = instant(*s.AppliedAt)
		}
		rows = append(rows, []string{s.Line, strconv.Itoa(s.Version), s.Name, applied})
	}
	return printTable(cmd.OutOrStdout(), []string{"LINE", "VERSION", "NAME", "APPLIED"}, rows)
}
