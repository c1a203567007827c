package command

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

// filled is the result of `app backfill`.
type filled struct {
	Name     string      `json:"name"`
	Missing  []time.Time `json:"missing"`  // the slots of the range that have not run
	Enqueued int         `json:"enqueued"` // of them, those that were not in the queue
}

func (a *app) backfill() *cobra.Command {
	var dryRun bool
	command := &cobra.Command{
		Use:   "backfill NAME",
		Short: "Enqueue the slots of a past range that have not run",
		Long: `Enqueue the slots in [from, to) that have not run: missed, skipped, given up,
or from before the schedule was known. The replicas run them, through the same
claim transaction as any slot; what has run is left alone.`,
		Example: `  app backfill weekly_digest --from 2026-05-01T00:00:00Z --to 2026-06-01T00:00:00Z --dry-run`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			first, err := instantFlag(cmd, "from", time.Time{})
			if err != nil {
				return err
			}
			end, err := instantFlag(cmd, "to", time.Time{})
			if err != nil {
				return err
			}
			if !first.Before(end) {
				return usage(fmt.Errorf("--from %s --to %s: the range is empty", instant(first), instant(end)))
			}
			return outcome(a.withSchedule(cmd.Context(), args[0], func(ctx context.Context, c *periodic.CatchUp, scheduled workers.Scheduled) error {
				result, err := fill(ctx, c, scheduled, first, end, dryRun)
				if err != nil {
					return err
				}
				return a.printFilled(cmd.OutOrStdout(), result, dryRun)
			}))
		},
	}
	flags := command.Flags()
	flags.String("from", "", "the first instant of the range, such as 2026-05-01T00:00:00Z")
	flags.String("to", "", "the first instant after the range")
	flags.BoolVar(&dryRun, "dry-run", false, "list the slots, enqueue nothing")
	flags.BoolVar(&a.json, "json", false, "print JSON")
	_ = command.MarkFlagRequired("from") // they exist: defined above
	_ = command.MarkFlagRequired("to")
	return command
}

func fill(ctx context.Context, c *periodic.CatchUp, scheduled workers.Scheduled, from, to time.Time, dryRun bool) (filled, error) {
	now, err := periodic.Now(ctx, c.DB)
	if err != nil {
		return filled{}, err
	}
	if to.After(now) {
		return filled{}, usage(fmt.Errorf("--to %s: it is %s, and a coming slot is never run early", instant(to), instant(now)))
	}
	gaps, err := c.Gaps(ctx, scheduled.Schedule, from, to)
	if err != nil {
		return filled{}, err
	}
	result := filled{Name: scheduled.Name, Missing: make([]time.Time, 0, len(gaps))}
	for _, slot := range gaps {
		result.Missing = append(result.Missing, slot.At)
	}
	if !dryRun {
		result.Enqueued, err = c.Backfill(ctx, scheduled.Carrier(), gaps)
	}
	return result, err
}

func (a *app) printFilled(out io.Writer, result filled, dryRun bool) error {
	if a.json {
		return printJSON(out, result)
	}
	if dryRun {
		for _, slot := range result.Missing {
			fmt.Fprintln(out, instant(slot))
		}
		_, err := fmt.Fprintf(out, "%s: %d slots would be enqueued\n", result.Name, len(result.Missing))
		return err
	}
	_, err := fmt.Fprintf(out, "%s: %d slots have not run, %d enqueued\n", result.Name, len(result.Missing), result.Enqueued)
	return err
}
