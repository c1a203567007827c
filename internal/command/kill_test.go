package command_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// recoveryTime is the stated time until a killed replica's slot is done, 15 s and
// a beat, and some for a machine that does much else.
const recoveryTime = 30 * time.Second

// A point is where on the way of a slot a replica is killed.
type point struct {
	heldAt      string // what the trigger that holds the replica there goes with
	afterCommit bool   // the hold ends while the replica is frozen: it never hears of its commit
	dead        string // what is there when it is
	recovered   string // and when the next replica has taken over
}

const (
	onCompletion = ` ON river_job FOR EACH ROW WHEN (NEW.state = 'completed')`
	onCommit     = ` ON river_job DEFERRABLE INITIALLY DEFERRED FOR EACH ROW WHEN (NEW.state = 'completed')`
)

// TestE5KilledAtEveryPoint kills replicas on the way of a slot, from its
// enqueueing to its end. Triggers hold them there; nothing in the service knows.
// All points wait for the same hand-back.
func TestE5KilledAtEveryPoint(t *testing.T) {
	t.Parallel()
	recoveries := map[string]recovery{}
	for name, p := range map[string]point{
		"1AfterTheClaim": {
			heldAt:    `TRIGGER hold BEFORE INSERT ON beats FOR EACH ROW`,
			dead:      "0 effects, 0 claims, job running in attempt 1",
			recovered: "1 effects, 1 claims, job completed in attempt 2",
		},
		"2AfterTheEffects": {
			heldAt:    `TRIGGER hold BEFORE UPDATE` + onCompletion,
			dead:      "0 effects, 0 claims, job running in attempt 1",
			recovered: "1 effects, 1 claims, job completed in attempt 2",
		},
		"3BeforeTheCommit": {
			heldAt:    `CONSTRAINT TRIGGER hold AFTER UPDATE` + onCommit,
			dead:      "0 effects, 0 claims, job running in attempt 1",
			recovered: "1 effects, 1 claims, job completed in attempt 2",
		},
		"4AfterTheCommit": {
			heldAt:      `CONSTRAINT TRIGGER hold AFTER UPDATE` + onCommit,
			afterCommit: true,
			dead:        "1 effects, 1 claims, job completed in attempt 1",
			recovered:   "1 effects, 1 claims, job completed in attempt 1",
		},
		"5BeforeTheEnqueueingIsCommitted": {
			heldAt:    `TRIGGER hold AFTER INSERT ON river_job FOR EACH ROW`,
			dead:      "0 effects, 0 claims, no job",
			recovered: "1 effects, 1 claims, job completed in attempt 1",
		},
	} {
		recoveries[name] = p.kill(t)
	}
	for name, r := range recoveries {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r.requireSlot(t)
		})
	}
}

// A recovery is what follows a kill.
type recovery struct {
	point

	db     *pgxpool.Pool
	killed time.Time
	heir   *process
}

// kill kills a replica at the point and starts another one.
func (p point) kill(t *testing.T) recovery {
	t.Helper()
	db := oweOneSlot(t)
	release := hold(t, db, p.heldAt)
	const victims = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND application_name LIKE 'ranura/victim-%'`
	victim := start(t, db, []string{"REPLICA_NAME=victim", asApp + "=years"}, "serve")
	eventually(t, "the replica is held", func() bool { return count(t, db, victims+` AND wait_event = 'advisory'`) == 1 })
	if p.afterCommit {
		require.NoError(t, victim.Process.Signal(syscall.SIGSTOP))
		release()
		eventually(t, "the slot is committed", func() bool { return slotStory(t, db) == p.dead })
	}
	require.NoError(t, victim.Process.Kill())
	killed := time.Now()
	_ = victim.Wait()
	eventually(t, "the server ends the dead replica's sessions", func() bool { return count(t, db, victims) == 0 })
	require.Equal(t, p.dead, slotStory(t, db))
	release()
	return recovery{p, db, killed, start(t, db, []string{"REPLICA_NAME=heir", "LOG_FORMAT=json", asApp + "=years"}, "serve")}
}

// requireSlot waits until the slot is done, in time and once.
func (r recovery) requireSlot(t *testing.T) {
	t.Helper()
	eventually(t, "the slot is done", func() bool { return slotStory(t, r.db) == r.recovered })
	var ran time.Time
	require.NoError(t, r.db.QueryRow(t.Context(), `SELECT ran_at FROM worker_runs`).Scan(&ran))
	t.Logf("done %.1f s after the kill", ran.Sub(r.killed).Seconds())
	require.Less(t, ran.Sub(r.killed), recoveryTime)
	eventually(t, "the heir has taken the victim's place", func() bool {
		return count(t, r.db, `SELECT count(*) FILTER (WHERE id LIKE 'heir-%') - count(*) FILTER (WHERE id LIKE 'victim-%') FROM replicas`) == 1
	})
	r.heir.terminate(t)
	require.Equal(t, r.recovered, slotStory(t, r.db), "and nothing more comes")
	require.NotContains(t, r.heir.stderr.String(), `"ERROR"`)
}
