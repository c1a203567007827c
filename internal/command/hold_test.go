package command_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/postgres/postgrestest"
	"github.com/ranura/ranura/internal/workers"
)

// oweOneSlot returns a database in which the latest New Year is due and nobody
// has enqueued it.
func oweOneSlot(t *testing.T) *pgxpool.Pool {
	t.Helper()
	db := postgrestest.New(t)
	createBeats(t, db)
	registry, err := workers.NewRegistry(years(), time.Now())
	require.NoError(t, err)
	before := &periodic.CatchUp{DB: db, Entries: registry.Entries(), Service: "ranura", Log: slog.New(slog.DiscardHandler)}
	require.NoError(t, before.Register(t.Context()))
	_, err = db.Exec(t.Context(), `UPDATE worker_schedules SET next_slot = year, enqueued_through = year - interval '1 day', resolved_through = year - interval '1 day'
		FROM date_trunc('year', now(), 'UTC') AS year`)
	require.NoError(t, err)
	return db
}

// hold creates a trigger that lets nobody pass until release is called, any
// number of times.
func hold(t *testing.T, db *pgxpool.Pool, trigger string) (release func()) {
	t.Helper()
	for _, sql := range []string{
		`CREATE FUNCTION hold() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN PERFORM pg_advisory_xact_lock_shared(43); RETURN NEW; END $$`,
		`CREATE ` + trigger + ` EXECUTE FUNCTION hold()`,
	} {
		_, err := db.Exec(t.Context(), sql)
		require.NoError(t, err)
	}
	holder, err := db.Begin(t.Context())
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), `SELECT pg_advisory_xact_lock(43)`)
	require.NoError(t, err)
	release = func() { _ = holder.Rollback(context.WithoutCancel(t.Context())) }
	t.Cleanup(release)
	return release
}

// slotStory says what anybody can see of the one slot.
func slotStory(t *testing.T, db *pgxpool.Pool) (story string) {
	t.Helper()
	require.NoError(t, db.QueryRow(t.Context(), `
		SELECT format('%s effects, %s claims, %s', (SELECT count(*) FROM beats), (SELECT count(*) FROM worker_runs),
		       coalesce((SELECT string_agg(format('job %s in attempt %s', state, attempt), ', ') FROM river_job), 'no job'))`).Scan(&story))
	return story
}
