package command_test

import (
	"syscall"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// TestFrozenReplicaTakesItsScheduleBack: while the only replica that has a
// schedule counts as gone, the schedule is removed. It is owed again from when
// that replica is back, without a restart.
func TestFrozenReplicaTakesItsScheduleBack(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	replica := func(name, has string) *process {
		return start(t, db, []string{"REPLICA_NAME=" + name, "LOG_FORMAT=json", asApp + "=" + has}, "serve")
	}
	const removed = `SELECT count(*) FROM worker_schedules WHERE name = 'pulse' AND removed_at IS NOT NULL`
	const pulses = `SELECT count(*) FROM worker_runs WHERE name = 'pulse' AND slot_at > (SELECT definition_changed_at FROM worker_schedules WHERE name = 'pulse')`
	const latest = `SELECT coalesce(max(extract(epoch FROM ran_at - slot_at)), 0)::int FROM worker_runs WHERE name = 'pulse' AND slot_at > (SELECT definition_changed_at FROM worker_schedules WHERE name = 'pulse')`

	victim := replica("victim", "pulses")
	eventually(t, "its schedule runs", func() bool { return count(t, db, pulses) > 2 })
	heir := replica("heir", "beats")
	eventually(t, "the other one works", func() bool { return count(t, db, `SELECT count(*) FROM beats`) > 10 })
	require.Zero(t, count(t, db, removed))
	require.NoError(t, victim.Process.Signal(syscall.SIGSTOP))
	eventually(t, "its schedule is removed", func() bool { return count(t, db, removed) == 1 })
	require.NoError(t, victim.Process.Signal(syscall.SIGCONT))
	eventually(t, "its schedule is back and runs", func() bool { return count(t, db, removed) == 0 && count(t, db, pulses) > 2 })
	require.LessOrEqual(t, count(t, db, latest), 10, "it does not sleep through the change")
	victim.terminate(t)
	heir.terminate(t)
}
