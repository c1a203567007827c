package periodic_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
)

func TestBackfill(t *testing.T) {
	t.Parallel()
	db := newTown(t)
	c := db.replica(t, entry(t, "daily", periodic.Definition{Cron: "@daily", Key: periodic.Date}))
	from, to := time.Date(2026, 5, 1, 0, 0, 0, 0, time.UTC), time.Date(2026, 5, 8, 0, 0, 0, 0, time.UTC)
	db.exec(t, `INSERT INTO worker_runs (name, key, outcome) VALUES ('daily', '2026-05-02', 'ran'), ('daily', '2026-05-03', 'skipped_late')`)

	keys := func(slots []periodic.Slot) (keys []string) {
		for _, slot := range slots {
			keys = append(keys, slot.Key)
		}
		return keys
	}
	gaps, err := c.Gaps(t.Context(), c.Entries[0].Schedule, from, to)
	require.NoError(t, err)
	missing := []string{"2026-05-01", "2026-05-03", "2026-05-04", "2026-05-05", "2026-05-06", "2026-05-07"}
	require.Equal(t, missing, keys(gaps), "from inclusive, to exclusive; also before the schedule was known")

	// One was given up, one waits in the queue.
	slot := c.Entries[0].Schedule.At(from.AddDate(0, 0, 3))
	_, err = c.Client.Insert(t.Context(), c.Entries[0].Args(slot), periodic.InsertOpts())
	require.NoError(t, err)
	db.exec(t, `UPDATE river_job SET state = 'discarded', finalized_at = now()`)
	slot = c.Entries[0].Schedule.At(from.AddDate(0, 0, 4))
	_, err = c.Client.Insert(t.Context(), c.Entries[0].Args(slot), periodic.InsertOpts())
	require.NoError(t, err)

	enqueued, err := c.Backfill(t.Context(), c.Entries[0], gaps)
	require.NoError(t, err)
	require.Equal(t, 5, enqueued)
	require.ElementsMatch(t, missing, db.jobs(t, "daily"))
	require.Equal(t, []string{"backfill 5", "timer 1"}, db.strings(t,
		`SELECT coalesce(metadata->>'source', 'timer') || ' ' || count(*) FROM river_job GROUP BY metadata->>'source' ORDER BY 1`))

	enqueued, err = c.Backfill(t.Context(), c.Entries[0], gaps)
	require.NoError(t, err)
	require.Zero(t, enqueued)

	enqueued, err = c.Backfill(t.Context(), c.Entries[0], nil)
	require.NoError(t, err)
	require.Zero(t, enqueued)
}
