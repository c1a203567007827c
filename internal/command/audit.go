package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/ranura/ranura/internal/audit"
	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

// settled is how long a slot may take before an audit misses it.
const settled = time.Minute

func (a *app) audit() *cobra.Command {
	var late time.Duration
	command := &cobra.Command{
		Use:   "audit [NAME]",
		Short: "Compare what should have run with what did: missing, doubled, unexpected, late",
		Long: `Compare what should have run with what did. The expected slots are computed from
the stored definitions, and held against the claims, the recorded skips and the
ledger: what is missing (or still being tried), doubled, or there without a slot.

The range is that of the last 7 days if --from and --to do not say otherwise.
Nothing is judged from before a schedule was known or its definition changed.
Exit status 3: there is a discrepancy.`,
		Example: `  app audit
  app audit leaderboard_close --from 2026-01-01T00:00:00Z --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			over := audit.Range{LateAfter: late}
			if len(args) == 1 {
				over.Name = args[0]
			}
			var err error
			if over.From, err = instantFlag(cmd, "from", time.Now().AddDate(0, 0, -7)); err != nil {
				return err
			}
			if over.To, err = instantFlag(cmd, "to", time.Time{}); err != nil {
				return err
			}
			return outcome(a.runAudit(cmd, over))
		},
	}
	flags := command.Flags()
	flags.String("from", "", "judge the slots after this instant (default 7 days ago)")
	flags.String("to", "", "judge the slots up to this instant (default a minute ago)")
	flags.DurationVar(&late, "late-after", settled, "remark on slots that ran later than this")
	flags.BoolVar(&a.json, "json", false, "print JSON")
	return command
}

var errDiffer = errors.New("audit: what ran is not what should have run")

func (a *app) runAudit(cmd *cobra.Command, over audit.Range) error {
	registry, err := a.registry()
	if err != nil {
		return err
	}
	return withDatabase(cmd.Context(), func(ctx context.Context, db *pgxpool.Pool, _ string) error {
		if over.Name != "" {
			if _, err := registry.Lookup(ctx, db, over.Name); err != nil {
				return err
			}
		}
		report, err := judge(ctx, db, registry, over)
		if err != nil {
			return err
		}
		if a.json {
			err = printJSON(cmd.OutOrStdout(), report)
		} else {
			err = printReport(cmd.OutOrStdout(), report)
		}
		if err == nil && !report.Agrees() {
			err = failure{errDiffer, exitDiffer}
		}
		return err
	})
}

func judge(ctx context.Context, db *pgxpool.Pool, registry *workers.Registry, over audit.Range) (audit.Report, error) {
	now, err := periodic.Now(ctx, db)
	if err != nil {
		return audit.Report{}, err
	}
	if last := now.Add(-settled); over.To.IsZero() || over.To.After(last) {
		over.To = last
	}
	report, err := audit.Run(ctx, db, over)
	if err != nil {
		return report, err
	}
	for _, scheduled := range registry.All() {
		auditor := scheduled.Auditor()
		if auditor == nil || over.Name != "" && over.Name != scheduled.Name {
			continue
		}
		times, err := auditor.Effects(ctx, db, over.From)
		if err != nil {
			return report, err
		}
		if err := audit.Effects(ctx, db, &report, scheduled.Name, times); err != nil {
			return report, err
		}
	}
	return report, nil
}

func printReport(out io.Writer, report audit.Report) error {
	rows := [][]string{}
	for _, kind := range []struct {
		name     string
		findings []audit.Finding
	}{
		{"missing", report.Missing}, {"doubled", report.Doubled}, {"unexpected", report.Unexpected}, {"late", report.Late}, {"forced", report.Forced},
	} {
		for _, f := range kind.findings {
			note := f.Note
			if f.Lateness > 0 {
				note = time.Duration(f.Lateness * float64(time.Second)).Round(time.Second).String()
			}
			rows = append(rows, []string{kind.name, f.Name + "@" + f.Key, note})
		}
	}
	if len(rows) > 0 {
		if err := printTable(out, []string{"FINDING", "SLOT", "NOTE"}, rows); err != nil {
			return err
		}
	}
	var skipped strings.Builder
	for _, reason := range slices.Sorted(maps.Keys(report.Skipped)) {
		fmt.Fprintf(&skipped, ", %d %s", report.Skipped[reason], reason)
	}
	_, err := fmt.Fprintf(out, "%d slots expected: %d ran%s, %d missing, %d doubled, %d unexpected\n",
		report.Expected, report.Ran, skipped.String(), len(report.Missing), len(report.Doubled), len(report.Unexpected))
	return err
}
