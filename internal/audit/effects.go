package audit

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/claim"
)

const ranSQL = `SELECT key FROM worker_runs WHERE name = $1 AND key = ANY ($2) AND outcome = 'ran'`

// Effects adds to a report what the effects themselves tell of a worker: times
// says, for each key of which there are effects, how often the same effect is
// there. Effects under a key that nobody has claimed are unexpected, and an
// effect that is there twice is doubled, whatever the claims say.
func Effects(ctx context.Context, db claim.Querier, report *Report, name string, times map[string]int64) error {
	keys := slices.Sorted(maps.Keys(times))
	rows, err := db.Query(ctx, ranSQL, name, keys)
	if err != nil {
		return fmt.Errorf("read claims of %q: %w", name, err)
	}
	claimed, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err != nil {
		return fmt.Errorf("read claims of %q: %w", name, err)
	}
	for _, key := range keys {
		if !slices.Contains(claimed, key) {
			report.Unexpected = append(report.Unexpected, Finding{Name: name, Key: key, Note: "there are effects, and no run"})
		}
		if times[key] > 1 {
			report.Doubled = append(report.Doubled, Finding{Name: name, Key: key, Note: fmt.Sprintf("one effect is there %d times", times[key])})
		}
	}
	return nil
}
