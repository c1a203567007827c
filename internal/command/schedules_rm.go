package command

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

func (a *app) rm() *cobra.Command {
	return &cobra.Command{
		Use:   "rm NAME",
		Short: "Remove a stored schedule",
		Long: `Remove a stored schedule. Its history stays. A slot that runs goes on; those in
the queue end as superseded, and nothing fires afterwards.`,
		Example: `  app schedules rm purge_drafts`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return outcome(withDatabase(cmd.Context(), func(ctx context.Context, db *pgxpool.Pool, _ string) error {
				removed, err := periodic.Remove(ctx, db, args[0])
				if err != nil {
					return err
				}
				if !removed {
					return a.notStored(ctx, db, args[0])
				}
				_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: removed\n", args[0])
				return err
			}))
		},
	}
}

// notStored says why a schedule cannot be removed.
func (a *app) notStored(ctx context.Context, db *pgxpool.Pool, name string) error {
	known, err := periodic.AllKnown(ctx, db, name)
	if err != nil {
		return err
	}
	if _, ok := known[name]; ok {
		return usage(fmt.Errorf("schedule %q: it is in the code: remove it there, or pause it (app schedules pause %s)", name, name))
	}
	return fmt.Errorf("%w %q: app schedules lists them", workers.ErrUnknown, name)
}
