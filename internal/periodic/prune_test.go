package periodic_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
)

// TestF2ForgottenClaimsMakeNothingDue: neither River's cleaner nor our own
// pruning may bring an old slot back.
func TestF2ForgottenClaimsMakeNothingDue(t *testing.T) {
	t.Parallel()
	const keep = 400 * 24 * time.Hour
	db := newTown(t)
	c := db.replica(t, entry(t, "daily", periodic.Definition{Cron: "@daily", Key: periodic.Date}))
	now, err := periodic.Now(t.Context(), db)
	require.NoError(t, err)
	day := now.UTC().Truncate(24 * time.Hour)
	db.lastRan(t, day)
	db.exec(t, `INSERT INTO worker_runs (name, key, slot_at, ran_at)
		SELECT 'daily', to_char(d, 'YYYY-MM-DD'), d, d FROM generate_series($1::timestamptz - interval '500 days', $1, '1 day') d`, day)
	db.exec(t, `INSERT INTO worker_runs (name, key, ran_at) VALUES ('python', 'old', $1), ('python', 'young', $2)`, day.AddDate(0, 0, -401), day)

	pruned, err := periodic.Prune(t.Context(), db, keep)
	require.NoError(t, err)
	require.EqualValues(t, 102, pruned, "500 to 400 days ago, and the old one of another language")
	require.Equal(t, []string{"young"}, db.strings(t, `SELECT key FROM worker_runs WHERE name = 'python'`))
	db.exec(t, `DELETE FROM river_job`) // as the cleaner does, a day after completion
	require.Zero(t, db.pass(t, c).Enqueued)

	// However short the retention is set, the catch-up window is spared.
	_, err = periodic.Prune(t.Context(), db, time.Second)
	require.NoError(t, err)
	require.Equal(t, []string{"7"}, db.strings(t, `SELECT count(*)::text FROM worker_runs WHERE name = 'daily'`))
	require.Zero(t, db.pass(t, c).Enqueued)
}
