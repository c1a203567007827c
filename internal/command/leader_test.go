package command_test

import (
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// TestLeaderGoes: River's timers live in the leader's memory. With it gone,
// killed or in order, catch-up on the other replicas loses no slot.
func TestLeaderGoes(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"Killed": syscall.SIGKILL, "InOrder": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := postgrestest.New(t)
			createBeats(t, db)
			replicas := map[string]*process{}
			for _, name := range []string{"a", "b", "c"} {
				replicas[name] = serve(t, db, name)
			}
			beats(t, db, 3)
			var leader string
			require.NoError(t, db.QueryRow(t.Context(), `SELECT leader_id FROM river_leader`).Scan(&leader))
			gone := replicas[leader[:1]]
			since := count(t, db, `SELECT extract(epoch FROM clock_timestamp())::int`)
			require.NoError(t, gone.Process.Signal(signal))
			_ = gone.Wait()
			before := count(t, db, `SELECT count(*) FROM worker_runs WHERE name = 'beat' AND source = 'schedule'`)
			beats(t, db, before+10) // until there is a new leader, and on

			awaitEverySecond(t, db)
			for name, replica := range replicas {
				if name != leader[:1] {
					replica.terminate(t)
					require.NotContains(t, replica.stderr.String(), `"ERROR"`)
				}
			}
			requireNoneTwice(t, db)
			t.Logf("%s: the latest slot was %.2f s late", name, float64(count(t, db,
				`SELECT (max(extract(epoch FROM ran_at - slot_at)) * 1000)::int FROM worker_runs
				WHERE name = 'beat' AND slot_at > to_timestamp($1)`, since))/1000)
		})
	}
}

// TestA4TheLeadersRowIsTamperedWith: for twenty slots somebody deletes the row by
// which a replica knows that it leads, so that several believe it, and then gives
// it to a stranger, so that none does. Each second has its slot, once.
func TestA4TheLeadersRowIsTamperedWith(t *testing.T) {
	t.Parallel()
	const slots = 20
	db := postgrestest.New(t)
	createBeats(t, db)
	var replicas []*process
	for _, name := range []string{"a", "b", "c"} {
		replicas = append(replicas, serve(t, db, name))
	}
	beats(t, db, 1)
	ran := func() int { return count(t, db, `SELECT count(*) FROM worker_runs WHERE name = 'beat'`) }
	for first, n := ran(), 0; n < slots; n++ {
		tampering := `DELETE FROM river_leader` // whoever asks leads, beside those who have not asked again
		if n >= slots/2 {
			tampering = `INSERT INTO river_leader (leader_id, elected_at, expires_at) VALUES ('stranger', now(), now() + interval '3 seconds')
				ON CONFLICT (name) DO UPDATE SET leader_id = excluded.leader_id, expires_at = excluded.expires_at`
		}
		_, err := db.Exec(t.Context(), tampering)
		require.NoError(t, err)
		eventually(t, "the next slot runs", func() bool { return ran() > first+n })
	}
	beats(t, db, count(t, db, `SELECT count(*) FROM worker_runs WHERE name = 'beat' AND source = 'schedule'`)+1) // one leads again

	awaitEverySecond(t, db)
	for _, replica := range replicas {
		replica.terminate(t)
		require.NotContains(t, replica.stderr.String(), `"ERROR"`)
	}
	requireNoneTwice(t, db)
	require.GreaterOrEqual(t, count(t, db, `SELECT count(*) FROM beats`), slots)
	require.Zero(t, count(t, db, `SELECT count(*) FROM river_job WHERE state NOT IN ('completed', 'available') OR errors IS NOT NULL`))
}

// beats waits for so many runs that a timer enqueued.
func beats(t *testing.T, db *pgxpool.Pool, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		return count(t, db, `SELECT count(*) FROM worker_runs WHERE name = 'beat' AND source = 'schedule'`) >= n
	}, 2*time.Minute, 50*time.Millisecond)
}

// awaitEverySecond waits until each second between the first and the last has
// its run. It is asked while the replicas are at work: a slot that failed with
// its replica is tried again a second later, when the next one has run already.
func awaitEverySecond(t *testing.T, db *pgxpool.Pool) {
	t.Helper()
	eventually(t, "every second has its slot", func() bool {
		return count(t, db, `SELECT extract(epoch FROM max(slot_at) - min(slot_at))::int + 1 - count(DISTINCT slot_at)
			FROM worker_runs WHERE name = 'beat'`) == 0
	})
}

// requireNoneTwice wants one effect for each run, and no run without one.
func requireNoneTwice(t *testing.T, db *pgxpool.Pool) {
	t.Helper()
	require.Zero(t, count(t, db, `SELECT count(*) - count(DISTINCT slot) FROM beats`), "slots doubled")
	require.Zero(t, count(t, db, `SELECT count(*) FROM beats b FULL JOIN worker_runs r ON r.slot_at = b.slot AND r.name = 'beat'
		WHERE r.name = 'beat' AND b.slot IS NULL OR r.name IS NULL`), "effects without claims, claims without effects")
}
