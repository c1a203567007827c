package command_test

import (
	"encoding/json"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// TestKinds: what enqueue_job takes is what some replica has, or had before all
// of them went down.
func TestKinds(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	kinds := func() int { return count(t, db, `SELECT count(*) FROM worker_kinds`) }
	all := serve(t, db, "all")
	require.Equal(t, 12, kinds())
	all.terminate(t)
	require.Equal(t, 12, kinds(), "a service that is down takes jobs")

	few := start(t, db, []string{"LOG_FORMAT=json", asApp + "=beats"}, "serve")
	eventually(t, "the next version has one worker left", func() bool { return kinds() == 2 }) // and that of stored schedules
	require.Equal(t, 1, count(t, db, `SELECT count(*) FROM worker_kinds WHERE name = 'beat' AND queue = 'slots' AND service = 'ranura'`))
	serve(t, db, "again").terminate(t)
	require.Equal(t, 2, kinds())
	few.terminate(t)
}

// TestTasksAreNoSlots: the history has them, an audit has nothing to say of them.
func TestTasksAreNoSlots(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	_, err := db.Exec(t.Context(), `INSERT INTO members (id, handle, name, joined_on) VALUES (7, 'ana', 'Ana', '2025-07-01')`)
	require.NoError(t, err)
	a := serve(t, db, "a")
	_, err = db.Exec(t.Context(), `SELECT enqueue_job('welcome', '{"member_id": 7}', 'ana')`)
	require.NoError(t, err)
	eventually(t, "the job and the one that it enqueues run", func() bool {
		return count(t, db, `SELECT count(*) FROM worker_runs WHERE name IN ('notify_member', 'welcome')`) == 2
	})
	a.terminate(t)

	stdout, stderr, status := run(t, db, "runs", "welcome")
	require.Zero(t, status, stderr)
	require.Regexp(t, `(?m)^welcome +- +ana +ran +- +external +1 +1 +a-\w+$`, stdout)
	stdout, _, status = run(t, db, "runs", "welcome", "--json")
	require.Zero(t, status)
	var runs []map[string]any
	require.NoError(t, json.Unmarshal([]byte(stdout), &runs))
	require.Len(t, runs, 1)
	require.Nil(t, runs[0]["slot"])

	stdout, stderr, status = run(t, db, "audit")
	require.Zero(t, status, stdout+stderr)
	require.NotContains(t, stdout, "welcome")
	_, stderr, status = run(t, db, "run", "welcome")
	require.Equal(t, 2, status)
	require.Contains(t, stderr, `unknown schedule "welcome"`)
}

// TestKilledReplicaLeavesItsTasks: they are handed back as slots are; another
// program's jobs are none of ours.
func TestKilledReplicaLeavesItsTasks(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	_, err := db.Exec(t.Context(), `
		INSERT INTO members (id, handle, name, joined_on) VALUES (7, 'ana', 'Ana', '2025-07-01');
		INSERT INTO river_job (kind, args, max_attempts, state, attempt, attempted_at, attempted_by) VALUES
			('welcome', '{"member_id": 7}', 25, 'running', 1, now() - interval '20 seconds', '{gone-1}'),
			('theirs', '{}', 25, 'running', 1, now() - interval '20 seconds', '{their-client}')`)
	require.NoError(t, err)
	heir := serve(t, db, "heir")
	eventually(t, "the heir runs it", func() bool {
		return count(t, db, `SELECT count(*) FROM river_job WHERE kind = 'welcome' AND state = 'completed' AND attempt = 2`) == 1
	})
	heir.terminate(t)
	require.Equal(t, 1, count(t, db, `SELECT count(*) FROM river_job WHERE kind = 'theirs' AND state = 'running' AND attempt = 1`))
}
