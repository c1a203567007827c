package command

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/ranura/ranura/internal/claim"
)

func (a *app) runs() *cobra.Command {
	var (
		since time.Duration
		limit int
	)
	command := &cobra.Command{
		Use:   "runs [NAME]",
		Short: "Print what ran: slot, key, outcome, lateness, source, attempts, effects, replica",
		Example: `  app runs
  app runs leaderboard_close --since 720h --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if since <= 0 || limit < 1 {
				return usage(fmt.Errorf("--since %s --limit %d: both must be positive", since, limit))
			}
			var name string
			if len(args) == 1 {
				name = args[0]
			}
			return outcome(withDatabase(cmd.Context(), func(ctx context.Context, db *pgxpool.Pool, _ string) error {
				records, err := claim.History(ctx, db, name, time.Now().Add(-since), limit)
				if err != nil {
					return err
				}
				return a.printRuns(cmd, records)
			}))
		},
	}
	flags := command.Flags()
	flags.DurationVar(&since, "since", 7*24*time.Hour, "how far back, such as 48h")
	flags.IntVar(&limit, "limit", 100, "at most so many, the newest first")
	flags.BoolVar(&a.json, "json", false, "print JSON")
	return command
}

func (a *app) printRuns(cmd *cobra.Command, records []claim.Record) error {
	if a.json {
		return printJSON(cmd.OutOrStdout(), records)
	}
	rows := make([][]string, 0, len(records))
	for _, r := range records {
		slot, lateness := "-", "-"
		if r.Slot != nil {
			slot = instant(*r.Slot)
		}
		if r.Lateness != nil {
			lateness = time.Duration(*r.Lateness * float64(time.Second)).Round(time.Millisecond).String()
		}
		rows = append(rows, []string{r.Name, slot, r.Key, r.Outcome, lateness, string(r.Source),
			orDash(r.Attempt), orDash(r.Effects), orDash(r.Replica)})
	}
	header := []string{"NAME", "SLOT", "KEY", "OUTCOME", "LATENESS", "SOURCE", "ATTEMPT", "EFFECTS", "REPLICA"}
	return printTable(cmd.OutOrStdout(), header, rows)
}
