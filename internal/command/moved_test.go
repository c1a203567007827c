package command_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// A3: a schedule belongs to the service that has it, also when that is another
// one than before.
func TestScheduleMovesToAnotherService(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	env := func(service, has string) []string {
		return []string{"REPLICA_NAME=" + service, "SERVICE_NAME=" + service, "LOG_FORMAT=json", asApp + "=" + has}
	}
	const moved = `SELECT count(*) FROM worker_runs WHERE name = 'beat' AND replica LIKE 'two-%'`

	old := start(t, db, env("one", "beats"), "serve")
	beats(t, db, 2)
	old.terminate(t)
	rest := start(t, db, env("one", "pulses"), "serve") // the service lives on without it
	eventually(t, "the schedule is removed", func() bool {
		return count(t, db, `SELECT count(*) FROM worker_schedules WHERE name = 'beat' AND removed_at IS NOT NULL`) == 1
	})
	heir := start(t, db, env("two", "beats"), "serve")
	eventually(t, "it runs where it is now", func() bool { return count(t, db, moved) > 2 })
	require.Equal(t, 1, count(t, db, `SELECT count(*) FROM worker_schedules WHERE name = 'beat' AND service = 'two' AND removed_at IS NULL`))
	rest.terminate(t)
	heir.terminate(t)
}

// TestHeldScheduleKeepsNoReplicaFromStarting: a person who has a row in hand
// delays a replica that starts, and does not end it.
func TestHeldScheduleKeepsNoReplicaFromStarting(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	serve(t, db, "first").terminate(t)
	tx, err := db.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `SELECT FROM worker_schedules WHERE name = 'beat' FOR UPDATE`)
	require.NoError(t, err)

	late := start(t, db, []string{"LOG_FORMAT=json"}, "serve")
	eventually(t, "it says what it waits for", func() bool { return strings.Contains(late.stderr.String(), "55P03") })
	require.NoError(t, tx.Rollback(t.Context()))
	eventually(t, "it starts", func() bool { return strings.Contains(late.stderr.String(), `"replica started"`) })
	late.terminate(t)
}
