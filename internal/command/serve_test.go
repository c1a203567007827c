package command_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// TestThreeReplicas starts three replicas at once on an empty database and
// lets a schedule of one second run for a minute: A1.
func TestThreeReplicas(t *testing.T) {
	t.Parallel()
	const slots = 60
	db := postgrestest.NewEmpty(t)
	createBeats(t, db)

	replicas := map[string]*process{}
	for _, name := range []string{"a", "b", "c"} {
		replicas[name] = start(t, db, []string{"REPLICA_NAME=" + name, "LOG_FORMAT=json", "LOG_LEVEL=DEBUG"}, "serve")
	}
	eventually(t, "the replicas migrate", func() bool {
		return count(t, db, `SELECT count(*) FROM pg_class WHERE relname = 'worker_schedules'`) == 1
	})
	require.Eventually(t, func() bool { return count(t, db, `SELECT count(*) FROM beats`) >= slots },
		3*time.Minute, 100*time.Millisecond)
	for _, replica := range replicas {
		replica.terminate(t)
	}

	rows, err := db.Query(t.Context(), `SELECT slot_at FROM worker_runs WHERE name = 'beat' ORDER BY slot_at`)
	require.NoError(t, err)
	ran, err := pgx.CollectRows(rows, pgx.RowTo[time.Time])
	require.NoError(t, err)
	for i, slot := range ran {
		require.Equal(t, ran[0].Add(time.Duration(i)*time.Second), slot, "every second has its slot")
	}
	require.Equal(t, len(ran), count(t, db, `SELECT count(*) FROM beats`), "one effect for each slot")
	require.Equal(t, len(ran), count(t, db, `SELECT count(DISTINCT slot) FROM beats`))
	require.Zero(t, count(t, db, `SELECT count(*) FROM worker_runs WHERE ran_at < slot_at`), "no slot runs early")

	require.Greater(t, count(t, db, `SELECT count(*) FROM worker_runs WHERE name = 'beat' AND source = 'schedule'`), slots/2,
		"the timers are the first trigger; catch-up has what was due before there was a leader")
	for name, replica := range replicas {
		require.NotContains(t, replica.stderr.String(), `"ERROR"`)
		require.NotZero(t, count(t, db, `SELECT count(*) FROM worker_runs WHERE name = 'beat' AND replica LIKE $1`, name+"-%"),
			"replica %s won some", name)
	}
	require.Zero(t, count(t, db, `SELECT count(*) FROM river_job WHERE state NOT IN ('completed', 'available')`))
	require.Zero(t, count(t, db, `SELECT count(*) FROM river_job WHERE errors IS NOT NULL`))
}

// TestByHandAfterAKill: nobody has to wait for the hand-back of a slot whose
// replica was killed. A run by hand does it, and the job that is still running
// finds it done: E5.
func TestByHandAfterAKill(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	effects := func() int { return count(t, db, `SELECT count(*) FROM beats WHERE slot = '2026-01-01Z'`) }
	claims := func() int { return count(t, db, `SELECT count(*) FROM worker_runs WHERE name = 'stuck'`) }

	victim, release := midSlot(t, db)
	require.NoError(t, victim.Process.Kill())
	_ = victim.Wait()
	release()
	eventually(t, "the server ends the dead replica's transaction", func() bool {
		return count(t, db, `SELECT count(*) FROM pg_stat_activity WHERE application_name LIKE 'ranura/victim-%'`) == 0
	})
	require.Zero(t, effects(), "no effect")
	require.Zero(t, claims(), "no claim")

	stdout, stderr, status := run(t, db, "run", "stuck", "--slot", "2026-01-01T00:00:00Z")
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "stuck@2026-01-01T00:00:00Z (slot 2026-01-01T00:00:00Z): ran, 1 effects")
	require.Equal(t, 1, effects(), "the retry pays once")

	heir := serve(t, db, "heir")
	_, err := db.Exec(t.Context(), `UPDATE river_job SET state = 'available' WHERE kind = 'stuck'`) // as the rescuer does, after its minute
	require.NoError(t, err)
	eventually(t, "the job that was left running completes as a no-op", func() bool {
		return count(t, db, `SELECT count(*) FROM river_job WHERE kind = 'stuck' AND state = 'completed'`) == 1
	})
	heir.terminate(t)
	require.Equal(t, 1, effects())
	require.Contains(t, heir.stderr.String(), `"slot already ran"`)
	require.NotContains(t, heir.stderr.String(), `"ERROR"`)
}

// TestJobsThatNobodyCanReadAreSaid: what a plain INSERT got wrong is cancelled,
// and the log says so.
func TestJobsThatNobodyCanReadAreSaid(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	for _, args := range []string{`"text"`, `[1]`, `{"key": 1, "slot": 2}`, `{"key": "k", "slot": "yesterday"}`, `{}`, `null`} {
		_, err := db.Exec(t.Context(), `INSERT INTO river_job (kind, args, queue, max_attempts) VALUES ('stuck', $1::text::jsonb, 'slots', 25)`, args)
		require.NoError(t, err)
	}
	replica := serve(t, db, "reader")
	eventually(t, "all are cancelled", func() bool {
		return count(t, db, `SELECT count(*) FROM river_job WHERE kind = 'stuck' AND state = 'cancelled' AND attempt = 1`) == 6
	})
	replica.terminate(t)
	require.Equal(t, 6, strings.Count(replica.stderr.String(), `"job cancelled`))
}

// TestServeRefusesTheOpenWorld is K1: without a password only this machine may ask.
func TestServeRefusesTheOpenWorld(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	for _, addr := range []string{"0.0.0.0:0", ":8080", "192.0.2.1:80", "8080"} {
		p := start(t, db, []string{"HTTP_ADDR=" + addr}, "serve")
		_ = p.Wait()
		require.Equal(t, 2, p.ProcessState.ExitCode(), addr)
		require.Contains(t, p.stderr.String(), "app: HTTP_ADDR: ", addr)
		require.Contains(t, p.stderr.String(), "127.0.0.1:8080", addr)
	}
}

// TestServeEndsWithItsParent: app dev leaves no process behind.
func TestServeEndsWithItsParent(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	p := start(t, db, nil, "serve", "--until-eof") // standard input is empty, and ends at once
	require.NoError(t, p.Wait(), "an orderly stop")
}
