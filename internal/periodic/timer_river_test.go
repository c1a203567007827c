package periodic

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// lead runs the timer of an every-second schedule on db until the test ends.
// Nothing works its jobs, so they stay as they were inserted.
func lead(t *testing.T, db *pgxpool.Pool) {
	t.Helper()
	working := river.NewWorkers()
	river.AddWorker(working, river.WorkFunc(func(context.Context, *river.Job[probeArgs]) error { return nil }))
	client, err := river.NewClient(riverpgxv5.New(db), &river.Config{
		Logger:              slog.New(slog.DiscardHandler),
		PeriodicJobs:        Jobs([]Entry{newEntry(t, Definition{Cron: "@every 1s", Zone: "UTC"})}),
		Queues:              map[string]river.QueueConfig{"idle": {MaxWorkers: 1}},
		ReindexerIndexNames: []string{},
		TestOnly:            true,
		Workers:             working,
	})
	require.NoError(t, err)
	ctx := context.WithoutCancel(t.Context())
	require.NoError(t, client.Start(ctx))
	t.Cleanup(func() { require.NoError(t, client.StopAndCancel(ctx)) })
}

// awaitJobs waits until there are n jobs or more.
func awaitJobs(t *testing.T, db *pgxpool.Pool, n int) {
	t.Helper()
	require.Eventually(t, func() bool {
		var jobs int
		err := db.QueryRow(t.Context(), `SELECT count(*) FROM river_job`).Scan(&jobs)
		return err == nil && jobs >= n
	}, 30*time.Second, 20*time.Millisecond)
}

// requireEverySecond wants consecutive slots, each once, and each job as a
// slot's job must be: not "scheduled", which waits for a five-second round.
func requireEverySecond(t *testing.T, db *pgxpool.Pool) {
	t.Helper()
	rows, err := db.Query(t.Context(), `
		SELECT (args->>'slot')::timestamptz, args->>'key', scheduled_at, state::text, queue
		FROM river_job ORDER BY 1, id`)
	require.NoError(t, err)
	var slot, scheduledAt, want time.Time
	var key, state, queue string
	_, err = pgx.ForEachRow(rows, []any{&slot, &key, &scheduledAt, &state, &queue}, func() error {
		if want.IsZero() {
			want = slot
		}
		require.Equal(t, want.UTC(), slot.UTC())
		require.Equal(t, want.UTC().Format(time.RFC3339), key)
		require.Equal(t, want.UTC(), scheduledAt.UTC())
		require.Equal(t, "available slots", state+" "+queue)
		want = want.Add(time.Second)
		return nil
	})
	require.NoError(t, err)
}

func TestTimerUnderRiver(t *testing.T) {
	t.Parallel()

	t.Run("EverySlotOnce", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.New(t)
		lead(t, db)
		awaitJobs(t, db, 4)
		requireEverySecond(t, db)
	})

	// A constructor that asks the clock which slot fired gives the slots that
	// fell due during the stall one name, and loses all but one of them.
	t.Run("AStalledInsertLosesNoSlot", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.New(t)
		lead(t, db)
		awaitJobs(t, db, 1)
		var before, after int
		require.NoError(t, pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), `LOCK TABLE river_job IN EXCLUSIVE MODE`)
			require.NoError(t, err)
			require.NoError(t, tx.QueryRow(t.Context(), `SELECT count(*) FROM river_job`).Scan(&before))
			return tx.QueryRow(t.Context(), `SELECT count(*) FROM river_job, pg_sleep(3.5)`).Scan(&after)
		}))
		require.Equal(t, before, after, "the stall")
		awaitJobs(t, db, before+4)
		requireEverySecond(t, db)
	})
}
