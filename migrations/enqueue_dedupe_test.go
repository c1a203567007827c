package migrations_test

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

func TestDedupeKey(t *testing.T) {
	t.Parallel()

	t.Run("F3OneKeyOfOneKindIsOneJob", func(t *testing.T) {
		t.Parallel()
		db := newKinds(t)
		write(t, db, `INSERT INTO worker_kinds VALUES ('farewell', 'ranura', 'default')`)
		first := enqueue(t, db, `SELECT enqueue_job('welcome', '{"n": 1}', '🎉')`)
		require.Equal(t, first, enqueue(t, db, `SELECT enqueue_job('welcome', '{"n": 2}', '🎉', priority => 2)`))
		require.NotEqual(t, first, enqueue(t, db, `SELECT enqueue_job('welcome', '{"n": 1}', '🎉 ')`))
		require.NotEqual(t, first, enqueue(t, db, `SELECT enqueue_job('farewell', '{"n": 1}', '🎉')`), "a key is the kind's own")
	})

	t.Run("ManyAtOnceMakeOneJob", func(t *testing.T) {
		t.Parallel()
		db := newKinds(t)
		var callers errgroup.Group
		for range 100 {
			callers.Go(func() error {
				_, err := db.Exec(t.Context(), `SELECT enqueue_job('welcome', '{}', 'k')`)
				return err
			})
		}
		require.NoError(t, callers.Wait())
		require.Equal(t, 1, count(t, db, `SELECT count(*) FROM river_job`))
	})

	t.Run("AboveReadCommittedAKeyThatWasTakenMeanwhileIsAnError", func(t *testing.T) {
		t.Parallel()
		db := newKinds(t)
		tx, err := db.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
		require.NoError(t, err)
		defer func() { require.NoError(t, tx.Rollback(t.Context())) }()
		_, err = tx.Exec(t.Context(), `SELECT`) // from here on it sees nothing new
		require.NoError(t, err)
		enqueue(t, db, `SELECT enqueue_job('welcome', '{}', 'k')`)
		_, err = tx.Exec(t.Context(), `SELECT enqueue_job('welcome', '{}', 'k')`)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, pgerrcode.SerializationFailure, refused.Code)
	})

	t.Run("EveryStateOfTheJobHoldsTheKey", func(t *testing.T) {
		t.Parallel()
		db := newKinds(t)
		id := enqueue(t, db, `SELECT enqueue_job('welcome', '{}', 'k')`)
		for _, state := range []string{"running", "retryable", "scheduled", "completed", "cancelled", "discarded"} {
			write(t, db, `UPDATE river_job SET state = $1::text::river_job_state,
				finalized_at = CASE WHEN $1::text IN ('completed', 'cancelled', 'discarded') THEN now() END`, state)
			require.Equal(t, id, enqueue(t, db, `SELECT enqueue_job('welcome', '{}', 'k')`), state)
		}
	})

	t.Run("WhatHasRunStaysDoneWhenItsJobIsGone", func(t *testing.T) {
		t.Parallel()
		db := newKinds(t)
		write(t, db, `INSERT INTO worker_runs (name, key, job_id) VALUES ('welcome', 'k', 42)`)
		require.EqualValues(t, 42, enqueue(t, db, `SELECT enqueue_job('welcome', '{}', 'k')`))
		require.Equal(t, "true", text(t, db, `SELECT claim_run('welcome', 'by hand')`))
		require.Equal(t, "true", text(t, db, `SELECT enqueue_job('welcome', '{}', 'by hand') IS NULL`))
		require.Zero(t, count(t, db, `SELECT count(*) FROM river_job`))
	})

	// A worker that has completed the job and not yet committed holds the row.
	t.Run("AJobThatIsBeingCompletedIsNotWaitedFor", func(t *testing.T) {
		t.Parallel()
		db := newKinds(t)
		id := enqueue(t, db, `SELECT enqueue_job('welcome', '{}', 'k')`)
		worker, err := db.Begin(t.Context())
		require.NoError(t, err)
		defer func() { require.NoError(t, worker.Rollback(t.Context())) }()
		_, err = worker.Exec(t.Context(), `UPDATE river_job SET state = 'completed', finalized_at = now()`)
		require.NoError(t, err)
		require.Equal(t, id, enqueue(t, db, `SELECT enqueue_job('welcome', '{}', 'k') FROM set_config('lock_timeout', '1', false)`))
	})
}

// C8: SQL names no slots. It takes those that Go printed, in Go's own form.
func TestSlotsByEnqueueJob(t *testing.T) {
	t.Parallel()
	db := newKinds(t)
	id := enqueue(t, db, `SELECT enqueue_job('close', '{"key": "2026-W22", "slot": "2026-05-30T00:00:00Z"}')`)
	require.Equal(t, "slots available {}", text(t, db, `SELECT concat_ws(' ', queue, state, metadata) FROM river_job WHERE id = $1`, id))
	require.Equal(t, id, enqueue(t, db, `SELECT enqueue_job('close', '{"slot": "2026-05-30T00:00:00Z", "key": "2026-W22"}', '2026-W22', queue => 'slots')`))
	require.NotEqual(t, id, enqueue(t, db, `SELECT enqueue_job('close', '{"key": "2026-W22", "slot": "2026-05-30T00:00:01Z"}')`),
		"a wrong pair is cancelled when it runs, and must not keep the right one out")
	write(t, db, `INSERT INTO worker_runs (name, key, outcome) VALUES ('close', '2026-W23', 'skipped_paused')`)
	require.Equal(t, "true", text(t, db, `SELECT enqueue_job('close', '{"key": "2026-W23", "slot": "2026-06-06T00:00:00Z"}') IS NULL`),
		"what was decided against stays so, for a machine")
}

// C8: Go, Postgres and Python read one local time as two instants, so that only
// Go may read it.
func TestC8NoSQLReadsALocalTime(t *testing.T) {
	t.Parallel()
	db := postgrestest.NewEmpty(t)
	for local, want := range map[string]string{ // Go: 09:30, 05:30 and 01:30; Python: 10:30, 05:30 and 01:30
		`timestamp '2025-03-09 02:30' AT TIME ZONE 'America/Los_Angeles'`: "10:30",
		`timestamp '2026-11-01 01:30' AT TIME ZONE 'America/New_York'`:    "06:30",
		`timestamp '2026-03-29 02:30' AT TIME ZONE 'Europe/Berlin'`:       "01:30",
	} {
		require.Equal(t, want, text(t, db, `SELECT to_char((`+local+`) AT TIME ZONE 'UTC', 'HH24:MI')`), local)
	}
	for _, pattern := range []string{"*.sql", "../deploy/*.sql"} {
		paths, err := filepath.Glob(pattern)
		require.NoError(t, err)
		require.NotEmpty(t, paths)
		for _, path := range paths {
			sql, err := os.ReadFile(path)
			require.NoError(t, err)
			require.NotRegexp(t, `(?i)at\s+time\s+zone|timezone\s*\(|localtime`, string(sql), path)
		}
	}
}
