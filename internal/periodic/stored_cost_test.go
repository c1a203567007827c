package periodic_test

import (
	"os"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ranura/ranura/internal/periodic"
)

const thousands = `INSERT INTO worker_schedules (name, cron, zone, sql_statement)
	SELECT 'n' || n, '0 4 1 1 *', 'UTC', 'SELECT 1' FROM generate_series(1, $1) n`

// adopted are as if replicas had passed over the stored schedules long ago.
const adopted = `UPDATE worker_schedules SET adopted_at = now(), next_slot = now() + interval '100 days' WHERE source = 'stored'`

// TestStoredCost: what an idle replica asks reads indexes, and no more than a
// few rows of them, however many schedules are stored.
func TestStoredCost(t *testing.T) {
	t.Parallel()
	db := newTown(t)
	db.replica(t, entry(t, "digest", periodic.Definition{Cron: "@yearly"}))
	db.exec(t, thousands, 10_000)
	db.exec(t, adopted)
	db.exec(t, `VACUUM ANALYZE worker_schedules`)
	for name, sql := range map[string]string{"due": periodic.DueSQL, "stored": periodic.AdvanceSQL} {
		args := map[string][]any{"due": {2 * time.Second}, "stored": {time.Time{}, "", 250}}[name]
		plan := strings.Join(db.strings(t, `EXPLAIN (ANALYZE, COSTS off, TIMING off, SUMMARY off) `+sql, args...), "\n")
		require.NotContains(t, plan, "Seq Scan on worker_schedules", plan)
		require.NotRegexp(t, `rows=\d{2,}`, plan)
		require.NotRegexp(t, `Rows Removed by Filter: \d{2,}`, plan)
	}
}

// TestStoredFigures prints what docs/stored.md says; RANURA_FIGURES=1 asks for it.
func TestStoredFigures(t *testing.T) { //nolint:paralleltest // it measures
	if os.Getenv("RANURA_FIGURES") == "" {
		t.Skip("RANURA_FIGURES=1 measures")
	}
	for _, n := range []int{10, 10_000} {
		db := newTown(t)
		c := db.replica(t, entry(t, "digest", periodic.Definition{Cron: "@yearly"}))
		db.exec(t, thousands, n)
		db.exec(t, adopted)
		db.exec(t, `VACUUM ANALYZE worker_schedules`)
		db.pass(t, c)
		const passes = 500
		begun := time.Now()
		for range passes {
			require.Zero(t, db.pass(t, c).Stored)
		}
		t.Logf("%d stored schedules: an idle pass takes %s", n, time.Since(begun)/passes)
	}

	db := newTown(t)
	replicas := []*periodic.CatchUp{db.replica(t), db.replica(t), db.replica(t)}
	all := func() (took time.Duration) {
		begun := time.Now()
		var group errgroup.Group
		for _, c := range replicas {
			group.Go(func() error {
				_, err := c.RunOnce(t.Context())
				return err
			})
		}
		require.NoError(t, group.Wait())
		return time.Since(begun)
	}
	db.exec(t, thousands, 10_000)
	t.Logf("10000 new ones are adopted by three replicas in %s", all())
	db.exec(t, `UPDATE worker_schedules SET cron = '* * * * *'`)
	db.exec(t, `UPDATE worker_schedules SET adopted_at = now(), next_slot = slot, resolved_through = slot - interval '1 second', enqueued_through = slot - interval '1 second'
		FROM date_trunc('minute', now()) AS slot`)
	db.exec(t, `VACUUM ANALYZE worker_schedules`)
	t.Logf("10000 that are due in one minute are enqueued by three replicas in %s", all())
	require.Equal(t, []string{"10000"}, db.strings(t, `SELECT count(DISTINCT args->>'name')::text FROM river_job`))
}
