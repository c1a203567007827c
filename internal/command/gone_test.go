package command_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// TestE2FrozenReplica: a replica that freezes while it runs a slot has the slot
// handed back. When it comes back, it finds its claim lost and writes nothing.
func TestE2FrozenReplica(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	effects := func() int { return count(t, db, `SELECT count(*) FROM beats WHERE slot = '2026-01-01Z'`) }
	victim, release := midSlot(t, db)
	heir := serve(t, db, "heir")
	require.NoError(t, victim.Process.Signal(syscall.SIGSTOP))
	froze := time.Now()
	release()
	require.Zero(t, effects())

	eventually(t, "the slot is done by the other one", func() bool {
		return count(t, db, `SELECT count(*) FROM worker_runs WHERE name = 'stuck' AND replica LIKE 'heir-%'`) == 1
	})
	t.Logf("done %.1f s later", time.Since(froze).Seconds())
	require.Equal(t, 1, effects())
	require.Contains(t, heir.stderr.String(), "their jobs are handed back")

	require.NoError(t, victim.Process.Signal(syscall.SIGCONT))
	eventually(t, "the zombie lives again", func() bool { return count(t, db, `SELECT count(*) FROM replicas`) == 2 })
	beats(t, db, 5)
	awaitEverySecond(t, db)
	victim.terminate(t)
	awaitEverySecond(t, db)
	heir.terminate(t)
	require.Equal(t, 1, effects(), "the zombie writes nothing")
	require.Zero(t, count(t, db, `SELECT count(*) FROM river_job WHERE state = 'running'`))
	require.Zero(t, count(t, db, `SELECT count(*) FROM replicas`), "who stops in order signs off")
	_, err := db.Exec(t.Context(), `DELETE FROM beats WHERE slot = '2026-01-01Z'`) // the rest are the seconds
	require.NoError(t, err)
	requireNoneTwice(t, db)
}
