package command

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

func (a *app) runs() *cobra.Command {
	var (
		since time.Duration
		limit int
	)
	command := &cobra.Command{
		Use:   "runs [NAME]",
		Short: "Print what ran, and what was skipped and why: slot, outcome, lateness, source, effects, replica",
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
			registry, err := a.registry()
			if err != nil {
				return err
			}
			return outcome(withDatabase(cmd.Context(), func(ctx context.Context, db *pgxpool.Pool, _ string) error {
				lines, err := history(ctx, db, name, time.Now().Add(-since), limit)
				if err == nil && name != "" && len(lines) == 0 {
					err = expectRuns(ctx, db, registry, name)
				}
				if err != nil {
					return err
				}
				return a.printRuns(cmd, lines)
			}))
		},
	}
	flags := command.Flags()
	flags.DurationVar(&since, "since", 7*24*time.Hour, "how far back, such as 48h")
	flags.IntVar(&limit, "limit", 100, "at most so many, the newest first")
	flags.BoolVar(&a.json, "json", false, "print JSON")
	return command
}

// line is one line of the history: a claim, or a range of slots that were
// skipped before they were enqueued.
type line struct {
	claim.Record

	LastSlot *time.Time `json:"last_slot,omitempty"` // of a range; Slot is its first
	Slots    int64      `json:"slots,omitempty"`     // in the range
	Note     *string    `json:"note,omitempty"`      // who had paused the schedule, and why
}

func history(ctx context.Context, db *pgxpool.Pool, name string, since time.Time, limit int) ([]line, error) {
	records, err := claim.History(ctx, db, name, since, limit)
	if err != nil {
		return nil, err
	}
	skips, err := periodic.Skips(ctx, db, name, since, limit)
	if err != nil {
		return nil, err
	}
	lines := make([]line, 0, len(records)+len(skips))
	for _, record := range records {
		lines = append(lines, line{Record: record})
	}
	for _, s := range skips {
		record := claim.Record{Name: s.Name, Slot: &s.First, RanAt: s.At, Outcome: s.Outcome, Replica: s.Replica}
		lines = append(lines, line{Record: record, LastSlot: &s.Last, Slots: s.Slots, Note: s.Note})
	}
	slices.SortStableFunc(lines, func(a, b line) int { return b.RanAt.Compare(a.RanAt) })
	return lines[:min(limit, len(lines))], nil
}

// expectRuns refuses a name that nothing could have run under: no worker's, no
// schedule's, be it removed, and none under which anybody ever claimed.
func expectRuns(ctx context.Context, db *pgxpool.Pool, registry *workers.Registry, name string) error {
	if slices.Contains(registry.Kinds(), name) {
		return nil
	}
	known, err := periodic.AllKnown(ctx, db, name)
	if err != nil || len(known) > 0 {
		return err
	}
	records, err := claim.History(ctx, db, name, time.Time{}, 1)
	if err != nil || len(records) > 0 {
		return err
	}
	_, unknown := registry.Find(name)
	return fmt.Errorf("%w; none of that name is stored, and nothing ever ran under it", unknown)
}

func (a *app) printRuns(cmd *cobra.Command, lines []line) error {
	if a.json {
		return printJSON(cmd.OutOrStdout(), lines)
	}
	rows := make([][]string, 0, len(lines))
	for _, l := range lines {
		slot, key, lateness := "-", l.Key, "-"
		if l.Slot != nil {
			slot = instant(*l.Slot)
		}
		if l.LastSlot != nil {
			key = fmt.Sprintf("… %s (%d slots)", instant(*l.LastSlot), l.Slots)
		}
		if l.Note != nil {
			key += ": " + *l.Note
		}
		if l.Lateness != nil {
			lateness = time.Duration(*l.Lateness * float64(time.Second)).Round(time.Millisecond).String()
		}
		rows = append(rows, []string{l.Name, slot, key, l.Outcome, lateness, string(l.Source),
			orDash(l.Attempt), orDash(l.Effects), orDash(l.Replica)})
	}
	header := []string{"NAME", "SLOT", "KEY", "OUTCOME", "LATENESS", "SOURCE", "ATTEMPT", "EFFECTS", "REPLICA"}
	return printTable(cmd.OutOrStdout(), header, rows)
}
