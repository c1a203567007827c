package command_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// TestBackfillByHand fills a gap from before the schedule was known.
func TestBackfillByHand(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	years := []string{"backfill", "stuck", "--from", "2024-01-01T00:00:00Z", "--to", "2026-06-01T00:00:00Z"}

	stdout, stderr, status := run(t, db, append(years, "--dry-run")...)
	require.Zero(t, status, stderr)
	require.Equal(t, "2024-01-01T00:00:00Z\n2025-01-01T00:00:00Z\n2026-01-01T00:00:00Z\nstuck: 3 slots would be enqueued\n", stdout)
	require.Zero(t, count(t, db, `SELECT count(*) FROM river_job`))

	stdout, stderr, status = run(t, db, years...)
	require.Zero(t, status, stderr)
	require.Equal(t, "stuck: 3 slots have not run, 3 enqueued\n", stdout)
	replica := serve(t, db, "filler")
	eventually(t, "the gap is filled", func() bool {
		return count(t, db, `SELECT count(*) FROM worker_runs WHERE name = 'stuck' AND source = 'backfill'`) == 3
	})
	replica.terminate(t)
	stdout, _, _ = run(t, db, years...)
	require.Equal(t, "stuck: 0 slots have not run, 0 enqueued\n", stdout)

	for stderr, args := range map[string][]string{
		"a coming slot is never run early": {"backfill", "stuck", "--from", "2026-01-01T00:00:00Z", "--to", "2099-01-01T00:00:00Z"},
		"the range is empty":               {"backfill", "stuck", "--from", "2026-01-01T00:00:00Z", "--to", "2026-01-01T00:00:00Z"},
		`required flag(s) "to" not set`:    {"backfill", "stuck", "--from", "2026-01-01T00:00:00Z"},
	} {
		_, got, status := run(t, db, args...)
		require.Equal(t, 2, status)
		require.Contains(t, got, stderr)
	}
}
