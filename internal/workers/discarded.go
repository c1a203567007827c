package workers

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/periodic"
)

const discardedSQL = `
SELECT kind, count(*) FROM river_job job
WHERE state = 'discarded' AND kind = ANY ($1)
  AND NOT EXISTS (SELECT FROM worker_runs run WHERE run.name = CASE kind WHEN $2 THEN args->>'name' ELSE kind END AND run.key = job.args->>'key')
GROUP BY kind`

// Discarded counts, by kind, the jobs that were given up and whose slot has not
// run since. River deletes them after a week.
func Discarded(ctx context.Context, db periodic.DB, kinds []string) (map[string]int64, error) {
	rows, err := db.Query(ctx, discardedSQL, kinds, periodic.StoredKind)
	if err != nil {
		return nil, fmt.Errorf("count discarded jobs: %w", err)
	}
	discarded := make(map[string]int64)
	var kind string
	var jobs int64
	_, err = pgx.ForEachRow(rows, []any{&kind, &jobs}, func() error {
		discarded[kind] = jobs
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("count discarded jobs: %w", err)
	}
	return discarded, nil
}
