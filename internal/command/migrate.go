package command

import (
	"context"
	"errors"
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
		Args: cobra.NoArgs,
		RunE: func(*cobra.Command, []string) error { return usage(errors.New("migrate: say up, down or status")) },
	}
	command.AddCommand(
		steps("up", "Apply what is missing", migrations.Up, "applied"),
		migrateDown(),
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

// migrateDown asks first: it deletes every claim, and the members' wallets, in
// whatever database the environment happens to name.
func migrateDown() *cobra.Command {
	var yes bool
	command := steps("down", "Revert everything: all claims, jobs and members are deleted", migrations.Down, "reverted")
	revert := command.RunE
	command.RunE = func(cmd *cobra.Command, args []string) error {
		if !yes {
			return usage(errors.New("migrate down deletes every claim, job and member of the database that DATABASE_URL names: say --yes if that is meant"))
		}
		return revert(cmd, args)
	}
	command.Flags().BoolVar(&yes, "yes", false, "delete everything")
	return command
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
