package command_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// patient is the timeout of a schedule that takes longer than most.
const patient = 10 * time.Minute

// TestG2DNoRescueBeforeTheTimeout: of slots that run on a replica that lives,
// River rescues those alone that are past the longest timeout. One pass of the
// rescuer meets all three here, a moment after the replica becomes the leader.
func TestG2DNoRescueBeforeTheTimeout(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	_, err := db.Exec(t.Context(), `INSERT INTO replicas (id, service, host, version, schedules, last_seen_at)
		VALUES ('alive', 'ranura', '', '', '{stuck}', clock_timestamp() + interval '1 hour')`)
	require.NoError(t, err)
	for year, ago := range map[string]time.Duration{"2023": patient - time.Minute, "2024": patient + 10*time.Second, "2025": patient + time.Minute} {
		_, err := db.Exec(t.Context(), `
			INSERT INTO river_job (kind, args, queue, max_attempts, state, attempt, attempted_by, attempted_at)
			VALUES ('stuck', jsonb_build_object('key', $1::text, 'slot', $1::text), 'slots', 25, 'running', 1, '{alive}', clock_timestamp() - $2::interval)`,
			year+"-01-01T00:00:00Z", ago)
		require.NoError(t, err)
	}
	replica := start(t, db, []string{"LOG_FORMAT=json", asApp + "=years"}, "serve")
	const rescued = `SELECT count(*) FROM river_job WHERE errors[1]->>'error' = 'Stuck job rescued by JobRescuer'`
	eventually(t, "the slot that nobody works at is rescued", func() bool { return count(t, db, rescued) > 0 })
	replica.terminate(t)
	require.Equal(t, 1, count(t, db, rescued+` AND args->>'key' = '2025-01-01T00:00:00Z'`))
	require.Equal(t, 2, count(t, db, `SELECT count(*) FROM river_job WHERE state = 'running' AND attempt = 1`), "one within its timeout, one within the margin")
}
