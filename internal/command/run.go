package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/postgres"
	"github.com/ranura/ranura/internal/replica"
	"github.com/ranura/ranura/internal/workers"
)

func (a *app) run() *cobra.Command {
	var request workers.Request
	command := &cobra.Command{
		Use:   "run NAME",
		Short: "Run one slot, once, through the same claim transaction as the timers",
		Long: `Run one slot, once, through the same claim transaction as the timers.

Without --slot or --key it is the latest due slot, never a coming one. A slot
that already ran is not run again: the command says by what and when, and exits
0. --force runs it again under a key of its own; what has been paid stays paid
once. For people, EventBridge, Kubernetes and cron.`,
		Example: `  app run leaderboard_close
  app run leaderboard_close --slot 2026-05-30T00:00:00Z
  app run leaderboard_close --key 2026-W22 --dry-run`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			request.Source = claim.Manual
			var err error
			if request.Slot, err = instantFlag(cmd, "slot", time.Time{}); err != nil {
				return err
			}
			if cmd.Flags().Changed("key") && request.Key == "" {
				return usage(errors.New(`--key "": write the key as app next prints it`))
			}
			return outcome(a.runOne(cmd, args[0], request))
		},
	}
	flags := command.Flags()
	flags.String("slot", "", "the slot's instant, such as 2026-05-30T00:00:00Z")
	flags.StringVar(&request.Key, "key", "", "the slot's key, such as 2026-W22")
	flags.BoolVar(&request.DryRun, "dry-run", false, "say what would happen, write nothing")
	flags.BoolVar(&request.Force, "force", false, "run it even if it already ran, under a new key")
	flags.BoolVar(&a.json, "json", false, "print JSON")
	command.MarkFlagsMutuallyExclusive("slot", "key")
	return command
}

func (a *app) runOne(cmd *cobra.Command, name string, request workers.Request) error {
	registry, err := a.registry()
	if err != nil {
		return err
	}
	timeout := periodic.DefaultTimeout // a stored schedule brings its own
	if scheduled, err := registry.Find(name); err == nil {
		timeout = scheduled.Timeout
	}
	return withRunner(cmd.Context(), timeout, func(ctx context.Context, db *pgxpool.Pool, runner *workers.Runner) error {
		scheduled, err := registry.Lookup(ctx, db, name)
		if err != nil {
			return err
		}
		result, err := runner.RunByHand(ctx, db, scheduled, request)
		if err != nil {
			return err
		}
		if a.json {
			return printJSON(cmd.OutOrStdout(), result)
		}
		return printResult(cmd.OutOrStdout(), result)
	})
}

func printResult(to io.Writer, result workers.Result) error {
	slot := fmt.Sprintf("%s@%s (slot %s)", result.Name, result.ClaimKey, instant(result.Slot))
	var err error
	switch {
	case result.Outcome == claim.Ran && result.Run == nil:
		_, err = fmt.Fprintf(to, "%s: ran\n", slot)
	case result.Outcome == claim.Ran:
		_, err = fmt.Fprintf(to, "%s: ran, %s effects\n", slot, orDash(result.Run.Effects))
	case result.Run != nil:
		_, err = fmt.Fprintf(to, "%s: already ran at %s by %s on replica %s, %s effects\n", slot,
			result.Run.RanAt.UTC().Format(time.RFC3339), result.Run.Source, orDash(result.Run.Replica), orDash(result.Run.Effects))
	case result.Outcome == claim.Duplicate:
		_, err = fmt.Fprintf(to, "%s: already ran\n", slot)
	default:
		_, err = fmt.Fprintf(to, "%s: would run\n", slot)
	}
	return err
}

// withDatabase gives a command the database for as long as it runs, and the id
// under which its runs are recorded.
func withDatabase(ctx context.Context, do func(ctx context.Context, db *pgxpool.Pool, id string) error) error {
	return withRunner(ctx, periodic.DefaultTimeout, func(ctx context.Context, db *pgxpool.Pool, runner *workers.Runner) error {
		return do(ctx, db, runner.Replica)
	})
}

// withRunner is withDatabase for a command that runs slots, with a timeout of
// its own for each statement.
func withRunner(ctx context.Context, timeout time.Duration, do func(ctx context.Context, db *pgxpool.Pool, runner *workers.Runner) error) error {
	config, err := readConfig()
	if err != nil {
		return err
	}
	id := replica.NewID(config.ReplicaName)
	db, err := postgres.OpenWorkers(ctx, string(config.DatabaseURL), id, timeout, commandConns)
	if err != nil {
		return err
	}
	defer db.Close()
	return do(ctx, db, &workers.Runner{DB: db, Replica: id, Endpoints: config.endpoints, Log: quiet()})
}

// commandConns: a command does one thing after the other.
const commandConns = 2
