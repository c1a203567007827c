package migrations_test

import (
	"context"
	"crypto/rand"
	"strings"
	"testing"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
	"github.com/ranura/ranura/migrations"
)

// Functions that run as their owner are the way in for whoever may call them.
func TestDefinerFunctions(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	rows, err := db.Query(t.Context(), `
		SELECT concat_ws(' ', proname, proconfig, has_function_privilege('public', oid, 'EXECUTE'), obj_description(oid, 'pg_proc') <> '')
		FROM pg_proc WHERE prosecdef ORDER BY proname`)
	require.NoError(t, err)
	functions, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	require.Equal(t, []string{
		`claim_run {"search_path=pg_catalog, public, pg_temp"} f t`,
		`enqueue_job {"search_path=pg_catalog, public, pg_temp"} f t`,
		`stamp_schedule {"search_path=pg_catalog, public, pg_temp"} f t`,
	}, functions, "pinned, not for everybody, documented")
}

// attackSQL puts a table of the caller's in the place of each one of ours, with
// a trigger that tells as whom it runs.
const attackSQL = `
CREATE TEMP TABLE took (who text);
CREATE FUNCTION pg_temp.take() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN INSERT INTO pg_temp.took VALUES (current_user); RETURN NEW; END $$;
CREATE TEMP TABLE worker_kinds AS SELECT 'welcome' AS name, 'evil' AS service, 'default' AS queue;
CREATE TEMP TABLE worker_runs (name text, key text, source text, job_id bigint, PRIMARY KEY (name, key));
CREATE TEMP TABLE river_job (id bigserial, kind text, args jsonb, queue text, priority int, max_attempts int, state river_job_state,
    scheduled_at timestamptz, metadata jsonb, unique_key bytea, unique_states bit(8));
CREATE UNIQUE INDEX ON pg_temp.river_job (unique_key)
    WHERE unique_key IS NOT NULL AND unique_states IS NOT NULL AND river_job_state_in_bitmask(unique_states, state);
CREATE TRIGGER take BEFORE INSERT ON pg_temp.worker_runs FOR EACH ROW EXECUTE FUNCTION pg_temp.take();
CREATE TRIGGER take BEFORE INSERT ON pg_temp.river_job FOR EACH ROW EXECUTE FUNCTION pg_temp.take();
GRANT INSERT ON pg_temp.took TO PUBLIC;
SELECT claim_run('welcome', 'k'), enqueue_job('welcome', '{}', 'j')`

func TestTemporaryTablesStandInForNothing(t *testing.T) {
	t.Parallel()

	attack := func(t *testing.T, db *pgxpool.Pool) (took []string) {
		t.Helper()
		caller := newCaller(t, db)
		require.NoError(t, pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), `SET LOCAL ROLE `+caller)
			require.NoError(t, err)
			_, err = tx.Exec(t.Context(), attackSQL)
			require.NoError(t, err)
			rows, err := tx.Query(t.Context(), `SELECT who FROM pg_temp.took`)
			require.NoError(t, err)
			took, err = pgx.CollectRows(rows, pgx.RowTo[string])
			require.NoError(t, err)
			_, err = tx.Exec(t.Context(), `DISCARD TEMP; RESET ROLE`)
			return err
		}))
		return took
	}

	t.Run("WithThePin", func(t *testing.T) {
		t.Parallel()
		db := newKinds(t)
		require.Empty(t, attack(t, db))
		require.Equal(t, 2, count(t, db, `SELECT (SELECT count(*) FROM river_job) + (SELECT count(*) FROM worker_runs)`))
	})

	t.Run("WithoutItTheCallerWouldRunAsTheOwner", func(t *testing.T) {
		t.Parallel()
		db := newKinds(t)
		write(t, db, `ALTER FUNCTION claim_run RESET search_path; ALTER FUNCTION enqueue_job RESET search_path`)
		owner := text(t, db, `SELECT current_user`)
		require.Equal(t, []string{owner, owner}, attack(t, db))
	})
}

// The schema need not be public, and the caller's search path does not matter.
func TestFunctionsKeepToTheirSchema(t *testing.T) {
	t.Parallel()
	db := postgrestest.NewEmpty(t)
	write(t, db, `CREATE SCHEMA "Odd one"`)
	config := db.Config()
	config.ConnConfig.RuntimeParams["search_path"] = `"Odd one"`
	inside, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	defer inside.Close()
	_, err = migrations.Up(t.Context(), inside)
	require.NoError(t, err)
	write(t, inside, `INSERT INTO worker_kinds VALUES ('welcome', 'ranura', 'default')`)

	listener, err := db.Acquire(t.Context())
	require.NoError(t, err)
	defer listener.Release()
	_, err = listener.Exec(t.Context(), `LISTEN "Odd one.river_insert"`)
	require.NoError(t, err)
	write(t, db, `SELECT "Odd one".enqueue_job('welcome', '{}', 'k'), "Odd one".claim_run('welcome', 'j')`)
	heard, err := listener.Conn().WaitForNotification(t.Context())
	require.NoError(t, err)
	require.JSONEq(t, `{"queue": "default"}`, heard.Payload)
	require.Equal(t, 2, count(t, inside, `SELECT (SELECT count(*) FROM river_job) + (SELECT count(*) FROM worker_runs)`))
}

func TestFunctionsAreNotForEverybody(t *testing.T) {
	t.Parallel()
	db := newKinds(t)
	caller := newCaller(t, db)
	write(t, db, `REVOKE ALL ON FUNCTION claim_run, enqueue_job FROM `+caller)
	for _, call := range []string{`SELECT claim_run('a', 'b')`, `SELECT enqueue_job('welcome', '{}')`} {
		require.Equal(t, pgerrcode.InsufficientPrivilege, refusal(t, db, `SET LOCAL ROLE `+caller+`; `+call).Code)
	}
}

// newCaller is a role that may call both functions, and nothing else.
func newCaller(t *testing.T, db *pgxpool.Pool) (role string) {
	t.Helper()
	role = "caller_" + strings.ToLower(rand.Text())
	write(t, db, `CREATE ROLE `+role)
	t.Cleanup(func() {
		_, err := db.Exec(context.Background(), `DROP OWNED BY `+role+`; DROP ROLE `+role)
		require.NoError(t, err)
	})
	write(t, db, `GRANT EXECUTE ON FUNCTION claim_run, enqueue_job TO `+role)
	return role
}
