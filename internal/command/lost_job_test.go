package command_test

import (
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

// enqueueOnly is one pass of a replica that only enqueues.
func enqueueOnly(t *testing.T, db *pgxpool.Pool) periodic.Pass {
	t.Helper()
	registry, err := workers.NewRegistry(years(), time.Now())
	require.NoError(t, err)
	client, err := river.NewClient(riverpgxv5.New(db), &river.Config{SkipUnknownJobCheck: true})
	require.NoError(t, err)
	pass, err := (&periodic.CatchUp{DB: db, Client: client, Entries: registry.Entries(), Service: "ranura", Log: slog.New(slog.DiscardHandler)}).RunOnce(t.Context())
	require.NoError(t, err)
	return pass
}

// TestE7ADeletedJobIsLeftToARunByHand: somebody deletes a slot's job. No restart
// brings it back, the audit names the slot, and app run does it, once.
func TestE7ADeletedJobIsLeftToARunByHand(t *testing.T) {
	t.Parallel()
	db := oweOneSlot(t)
	_, err := db.Exec(t.Context(), `UPDATE worker_schedules SET known_since = enqueued_through, definition_changed_at = enqueued_through`)
	require.NoError(t, err)
	var year time.Time
	require.NoError(t, db.QueryRow(t.Context(), `SELECT next_slot FROM worker_schedules`).Scan(&year))
	slot := year.UTC().Format(time.RFC3339)
	app := func(args ...string) *process {
		p := start(t, db, []string{asApp + "=years"}, args...)
		_ = p.Wait() // the status tells
		return p
	}
	audit := []string{"audit", "stuck", "--from", year.AddDate(0, 0, -1).UTC().Format(time.RFC3339)}

	require.Equal(t, 1, enqueueOnly(t, db).Enqueued)
	_, err = db.Exec(t.Context(), `DELETE FROM river_job`)
	require.NoError(t, err)
	replica := start(t, db, []string{"REPLICA_NAME=again", "LOG_FORMAT=json", asApp + "=years"}, "serve")
	eventually(t, "the restarted replica is there", func() bool { return count(t, db, `SELECT count(*) FROM replicas`) == 1 })
	require.Zero(t, enqueueOnly(t, db).Enqueued)
	replica.terminate(t)
	require.Equal(t, "0 effects, 0 claims, no job", slotStory(t, db))

	missing := app(audit...)
	require.Equal(t, 3, missing.ProcessState.ExitCode(), missing.stderr.String())
	require.Regexp(t, `(?m)^missing +stuck@`+slot, missing.stdout.String())
	require.Contains(t, missing.stdout.String(), "1 slots expected: 0 ran, 1 missing, 0 doubled, 0 unexpected")

	first, second := start(t, db, []string{asApp + "=years"}, "run", "stuck", "--slot", slot), app("run", "stuck", "--slot", slot)
	require.NoError(t, first.Wait())
	require.Zero(t, second.ProcessState.ExitCode(), second.stderr.String())
	require.Regexp(t, `^stuck@\S+ \(slot `+slot+`\): (ran, 1 effects|already ran at \S+Z by manual on replica \S+, 1 effects)\n$`, first.stdout.String())
	require.Regexp(t, `^stuck@\S+ \(slot `+slot+`\): (ran, 1 effects|already ran at \S+Z by manual on replica \S+, 1 effects)\n$`, second.stdout.String())
	require.NotEqual(t, first.stdout.String(), second.stdout.String(), "one of the two ran it")
	require.Equal(t, "1 effects, 1 claims, no job", slotStory(t, db))
	require.Zero(t, app(audit...).ProcessState.ExitCode())
}
