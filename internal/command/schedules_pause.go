package command

import (
	"context"
	"fmt"
	"io"
	"os"
	"os/user"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/spf13/cobra"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

func (a *app) pause() *cobra.Command {
	var reason string
	command := &cobra.Command{
		Use:   "pause NAME",
		Short: "Skip the slots of a schedule until it is resumed",
		Long: `Skip the slots of a schedule until it is resumed. Each is recorded as skipped,
also one whose job is in the queue already. A slot that runs goes on, and a run
by hand is allowed. A schedule that is paused already stays so, with its reason:
the command says by whom and why.`,
		Example: `  app schedules pause weekly_digest --reason 'the mail provider is down'`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return outcome(a.withSchedule(cmd.Context(), args[0], func(ctx context.Context, c *periodic.CatchUp, _ workers.Scheduled) error {
				paused, err := c.Pause(ctx, args[0], operator(), reason)
				if err != nil {
					return err
				}
				return printPaused(cmd.OutOrStdout(), args[0], paused)
			}))
		},
	}
	command.Flags().StringVar(&reason, "reason", "", "why, for whoever looks at it next")
	return command
}

// printPaused tells whoever comes second that his reason is not on record.
func printPaused(to io.Writer, name string, paused periodic.Paused) error {
	if !paused.Before {
		_, err := fmt.Fprintf(to, "%s: paused since %s\n", name, instant(paused.Since))
		return err
	}
	by := paused.By
	if paused.Reason != "" {
		by += ": " + paused.Reason
	}
	_, err := fmt.Fprintf(to, "%s: already paused since %s by %s (resume it first to record another reason)\n", name, instant(paused.Since), by)
	return err
}

func (a *app) resume() *cobra.Command {
	return &cobra.Command{
		Use:   "resume NAME",
		Short: "Let a paused schedule go on from now",
		Long: `Let a paused schedule go on from now. What was due while it was paused stays
skipped; app backfill runs it.`,
		Example: `  app schedules resume weekly_digest`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			return outcome(a.withSchedule(cmd.Context(), args[0], func(ctx context.Context, c *periodic.CatchUp, scheduled workers.Scheduled) error {
				if _, err := c.Resume(ctx, scheduled.Carrier()); err != nil {
					return err
				}
				_, err := fmt.Fprintf(cmd.OutOrStdout(), "%s: active, next slot %s\n", args[0], instant(scheduled.Next(time.Now())))
				return err
			}))
		},
	}
}

// withSchedule gives a command what it needs to change a schedule's slots.
func (a *app) withSchedule(ctx context.Context, name string, do func(context.Context, *periodic.CatchUp, workers.Scheduled) error) error {
	registry, err := a.registry()
	if err != nil {
		return err
	}
	return withDatabase(ctx, func(ctx context.Context, db *pgxpool.Pool, id string) error {
		scheduled, err := registry.Lookup(ctx, db, name)
		if err != nil {
			return err
		}
		client, err := river.NewClient(riverpgxv5.New(db), &river.Config{Logger: quiet()}) // it only inserts
		if err != nil {
			return err
		}
		return do(ctx, &periodic.CatchUp{DB: db, Client: client, Entries: registry.Entries(), Replica: id, Log: quiet()}, scheduled)
	})
}

// operator is who runs the command, as far as the system knows.
func operator() string {
	host, _ := os.Hostname()
	who, err := user.Current()
	if err != nil {
		return "?@" + host
	}
	return who.Username + "@" + host
}
