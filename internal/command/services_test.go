package command_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// TestA3TwoServicesShareADatabase: whichever leads, both services' schedules
// run, and neither takes the other's for removed.
func TestA3TwoServicesShareADatabase(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	first := start(t, db, []string{"REPLICA_NAME=first", "SERVICE_NAME=one", "LOG_FORMAT=json", asApp + "=beats"}, "serve")
	beats(t, db, 2) // it leads
	second := start(t, db, []string{"REPLICA_NAME=second", "SERVICE_NAME=two", "LOG_FORMAT=json", asApp + "=pulses"}, "serve")
	eventually(t, "the second service's schedule runs under the first one's leader", func() bool {
		return count(t, db, `SELECT count(*) FROM worker_runs WHERE name = 'pulse' AND replica LIKE 'second-%'`) >= 3
	})
	second.terminate(t)
	require.Zero(t, count(t, db, `SELECT count(*) FROM worker_schedules WHERE removed_at IS NOT NULL`), "a service that is down is owed its slots")
	first.terminate(t)
	require.Zero(t, count(t, db, `SELECT count(*) FROM worker_runs WHERE name = 'beat' AND replica NOT LIKE 'first-%'`))
	require.Zero(t, count(t, db, `SELECT count(*) FROM slot_skips`))
}
