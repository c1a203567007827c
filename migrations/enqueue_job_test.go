package migrations_test

import (
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// newKinds is a database that knows one kind of job and one schedule, whose
// replicas are all down.
func newKinds(t *testing.T) *pgxpool.Pool {
	t.Helper()
	db := postgrestest.New(t)
	write(t, db, `INSERT INTO worker_kinds (name, service, queue) VALUES ('welcome', 'ranura', 'default'), ('close', 'ranura', 'slots')`)
	return db
}

// J2: what a hand-written INSERT leaves out.
func TestEnqueueJobWritesWhatRiverReads(t *testing.T) {
	t.Parallel()

	t.Run("DefaultsAreThoseOfAJobThatIsDueNow", func(t *testing.T) {
		t.Parallel()
		db := newKinds(t)
		id := enqueue(t, db, `SELECT enqueue_job('welcome', '{"member_id": 7}')`)
		require.Equal(t, "welcome {\"member_id\": 7} default 1 10000 available {} t t",
			text(t, db, `SELECT concat_ws(' ', kind, args, queue, priority, max_attempts, state, metadata,
				scheduled_at = created_at, unique_key IS NULL AND unique_states IS NULL) FROM river_job WHERE id = $1`, id))
	})

	t.Run("EveryParameterArrives", func(t *testing.T) {
		t.Parallel()
		db := newKinds(t)
		id := enqueue(t, db, `SELECT enqueue_job('welcome', '{}', dedupe_key => 'k', scheduled_at => '2030-01-01Z', priority => 4, max_attempts => 3)`)
		require.Equal(t, `default 4 3 scheduled {"dedupe_key": "k"} t 11111111`,
			text(t, db, `SELECT concat_ws(' ', queue, priority, max_attempts, state, metadata, scheduled_at = '2030-01-01Z', unique_states)
				FROM river_job WHERE id = $1`, id))
	})

	t.Run("ATimeInThePastIsNow", func(t *testing.T) {
		t.Parallel()
		db := newKinds(t)
		id := enqueue(t, db, `SELECT enqueue_job('welcome', '{}', scheduled_at => '-infinity')`)
		require.Equal(t, "available t", text(t, db, `SELECT concat_ws(' ', state, scheduled_at = created_at) FROM river_job WHERE id = $1`, id))
	})

	t.Run("I4TextsStayAsTheyAre", func(t *testing.T) {
		t.Parallel()
		db := newKinds(t)
		odd := "🎉 <b>\"O'Brien\" \\ \u00e9 e\u0301 & \u2028"
		id := enqueue(t, db, `SELECT enqueue_job('welcome', jsonb_build_object('a', $1::text), $1)`, odd)
		require.Equal(t, odd, text(t, db, `SELECT args->>'a' FROM river_job WHERE id = $1`, id))
		require.Equal(t, odd, text(t, db, `SELECT metadata->>'dedupe_key' FROM river_job WHERE id = $1`, id))
	})
}

// J1: the job is there when what it is about is there, and never without it.
func TestEnqueueJobIsPartOfTheTransaction(t *testing.T) {
	t.Parallel()
	db := newKinds(t)
	listener, err := db.Acquire(t.Context())
	require.NoError(t, err)
	defer listener.Release()
	_, err = listener.Exec(t.Context(), `LISTEN "public.river_insert"; LISTEN checkpoint`)
	require.NoError(t, err)
	// heard returns what was said up to now.
	heard := func() (payloads []string) {
		write(t, db, `SELECT pg_notify('checkpoint', '')`)
		for {
			n, err := listener.Conn().WaitForNotification(t.Context())
			require.NoError(t, err)
			if n.Channel == "checkpoint" {
				return payloads
			}
			payloads = append(payloads, n.Payload)
		}
	}

	write(t, db, `BEGIN; SELECT enqueue_job('welcome', '{}'); ROLLBACK`)
	require.Empty(t, heard())
	write(t, db, `BEGIN; SAVEPOINT s; SELECT enqueue_job('welcome', '{}', 'k'); ROLLBACK TO s; COMMIT`)
	require.Empty(t, heard())
	require.Zero(t, count(t, db, `SELECT count(*) FROM river_job`))

	tx, err := db.Begin(t.Context())
	require.NoError(t, err)
	_, err = tx.Exec(t.Context(), `SELECT enqueue_job('welcome', '{}', 'k')`)
	require.NoError(t, err)
	require.Empty(t, heard())
	require.Zero(t, count(t, db, `SELECT count(*) FROM river_job`), "nobody sees it before the commit")
	require.NoError(t, tx.Commit(t.Context()))
	require.Equal(t, []string{`{"queue" : "default"}`}, heard())
	require.Equal(t, 1, count(t, db, `SELECT count(*) FROM river_job`))

	write(t, db, `SELECT enqueue_job('welcome', '{}', 'k'), enqueue_job('welcome', '{}', scheduled_at => now() + interval '1 hour')`)
	require.Empty(t, heard(), "nobody is woken for a duplicate, or before it is time")
}

func enqueue(t *testing.T, db *pgxpool.Pool, query string, args ...any) (id int64) {
	t.Helper()
	require.NoError(t, db.QueryRow(t.Context(), query, args...).Scan(&id))
	return id
}

func write(t *testing.T, db *pgxpool.Pool, query string, args ...any) {
	t.Helper()
	_, err := db.Exec(t.Context(), query, args...)
	require.NoError(t, err)
}

// text returns the one value of a query as Postgres writes it.
func text(t *testing.T, db *pgxpool.Pool, query string, args ...any) (value string) {
	t.Helper()
	require.NoError(t, db.QueryRow(t.Context(), `SELECT (`+query+`)::text`, args...).Scan(&value))
	return value
}
