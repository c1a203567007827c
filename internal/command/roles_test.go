package command_test

import (
	"context"
	"crypto/rand"
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
	"github.com/ranura/ranura/internal/workers"
)

// roles are the published ones under names of the test's own, because a role
// belongs to the whole server.
type roles struct{ runtime, enqueuer, reader string }

const password = "not-a-secret"

func newRoles(t *testing.T, db *pgxpool.Pool) roles {
	t.Helper()
	script, err := os.ReadFile("../../deploy/grants.sql")
	require.NoError(t, err)
	prefix := "test_" + strings.ToLower(rand.Text()[:12]) + "_"
	grants := strings.NewReplacer("ranura_runtime", prefix+"runtime", "ranura_enqueuer", prefix+"enqueuer", "ranura_reader", prefix+"reader").
		Replace(string(script))
	all := roles{prefix + "runtime", prefix + "enqueuer", prefix + "reader"}
	t.Cleanup(func() {
		for _, role := range []string{all.runtime, all.enqueuer, all.reader} {
			_, err := db.Exec(context.Background(), fmt.Sprintf(`DROP OWNED BY %s; DROP ROLE %s`, role, role))
			require.NoError(t, err)
		}
	})
	for range 2 { // it may run again
		_, err = db.Exec(t.Context(), grants)
		require.NoError(t, err)
	}
	for _, role := range []string{all.runtime, all.enqueuer, all.reader} {
		_, err := db.Exec(t.Context(), fmt.Sprintf(`ALTER ROLE %s LOGIN PASSWORD '%s'`, role, password))
		require.NoError(t, err)
	}
	return all
}

// as connects as a role.
func as(t *testing.T, db *pgxpool.Pool, role string) *pgxpool.Pool {
	t.Helper()
	config, err := pgxpool.ParseConfig(urlOf(t, db, role))
	require.NoError(t, err)
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func urlOf(t *testing.T, db *pgxpool.Pool, role string) string {
	t.Helper()
	url := db.Config().ConnConfig
	return fmt.Sprintf("postgres://%s:%s@%s:%d/%s", role, password, url.Host, url.Port, url.Database)
}

// H5: each role can do its work, and not one thing more.
func TestH5Roles(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	all := newRoles(t, db)
	_, err := db.Exec(t.Context(), `INSERT INTO worker_kinds VALUES ('welcome', 'ranura', 'default'); CREATE TABLE later (n int)`)
	require.NoError(t, err)

	const (
		enqueue = `SELECT enqueue_job('welcome', '{"member_id": 7}', 'k')`
		claim   = `SELECT claim_run('digest', '2026-W22')`
	)
	for _, c := range []struct {
		role    string
		allowed []string
		denied  []string
	}{
		{all.enqueuer, []string{enqueue, claim}, []string{
			`SELECT FROM river_job`, `INSERT INTO river_job (kind, args) VALUES ('welcome', '{}')`, `UPDATE river_job SET state = 'available'`,
			`DELETE FROM river_job`, `SELECT nextval('river_job_id_seq')`, `SELECT FROM worker_runs`, `INSERT INTO worker_runs (name, key) VALUES ('a', 'b')`,
			`DELETE FROM worker_runs`, `SELECT FROM worker_kinds`, `INSERT INTO worker_kinds VALUES ('evil', 'ranura', 'default')`,
			`SELECT FROM members`, `SELECT FROM worker_schedules`, `SELECT FROM later`, `CREATE TABLE mine (n int)`, `DROP FUNCTION claim_run`,
			`ALTER FUNCTION enqueue_job RESET search_path`,
		}},
		{all.reader, []string{
			`SELECT * FROM worker_runs, slot_skips, replicas, worker_kinds`, `SELECT name, cron, next_slot, note FROM worker_schedules`, `SELECT id, kind, state, attempt FROM river_job`,
		}, []string{
			enqueue, claim, `SELECT args FROM river_job`, `SELECT errors FROM river_job`, `SELECT metadata FROM river_job`, `SELECT * FROM river_job`,
			`SELECT sql_statement FROM worker_schedules`, `SELECT enqueue_args FROM worker_schedules`, `SELECT http_body FROM worker_schedules`,
			`UPDATE worker_schedules SET paused_at = now()`, `DELETE FROM worker_runs`, `INSERT INTO worker_runs (name, key) VALUES ('a', 'b')`,
			`SELECT FROM notifications`, `SELECT FROM later`, `CREATE TABLE mine (n int)`,
		}},
		{all.runtime, []string{enqueue, claim, `DELETE FROM river_job`, `DELETE FROM worker_runs`, `DELETE FROM worker_schedules`, `DELETE FROM later`}, []string{
			`TRUNCATE worker_runs`, `DROP TABLE worker_runs`, `ALTER TABLE worker_runs DISABLE TRIGGER ALL`, `CREATE TABLE mine (n int)`,
			`UPDATE token_transactions SET coins = 1000`, `DELETE FROM token_transactions`, `DELETE FROM members`, `UPDATE members SET name = 'x'`,
			`DELETE FROM slot_skips`, `UPDATE ranura_migrations SET version_id = 1`, `DELETE FROM river_migration`,
			`ALTER FUNCTION enqueue_job RESET search_path`,
		}},
	} {
		pool := as(t, db, c.role)
		for _, sql := range c.allowed {
			_, err := pool.Exec(t.Context(), sql)
			require.NoError(t, err, "%s: %s", c.role, sql)
		}
		for _, sql := range c.denied {
			_, err := pool.Exec(t.Context(), sql)
			var refused *pgconn.PgError
			require.ErrorAs(t, err, &refused, "%s: %s", c.role, sql)
			require.Equal(t, pgerrcode.InsufficientPrivilege, refused.Code, "%s: %s", c.role, sql)
		}
	}
}

// H5: a replica does all of its work as the runtime role, and a backend as the
// enqueuer gives it some.
func TestH5AReplicaServesAsTheRuntime(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	all := newRoles(t, db)
	_, err := db.Exec(t.Context(), `GRANT INSERT ON beats TO `+all.runtime)
	require.NoError(t, err)
	seedDemo(t, db, time.Date(2025, time.May, 31, 0, 0, 0, 0, time.UTC))

	p := start(t, nil, []string{"DATABASE_URL=" + urlOf(t, db, all.runtime), "LOG_FORMAT=json"}, "serve")
	eventually(t, "slots run", func() bool { return count(t, db, `SELECT count(*) FROM beats`) >= 3 })
	_, err = as(t, db, all.runtime).Exec(t.Context(), `INSERT INTO worker_schedules (name, cron, zone, sql_statement)
		VALUES ('stored', '@every 1s', 'UTC', 'INSERT INTO beats (slot) VALUES ($slot)')`)
	require.NoError(t, err)
	eventually(t, "a stored schedule runs", func() bool {
		return count(t, db, `SELECT count(*) FROM worker_runs WHERE name = 'stored' AND effects = 1`) > 0
	})
	backend := as(t, db, all.enqueuer)
	require.NoError(t, pgx.BeginFunc(t.Context(), backend, func(tx pgx.Tx) error {
		_, err := workers.Enqueue(t.Context(), tx, workers.Welcome{MemberID: 7}, workers.EnqueueOpts{DedupeKey: "7"}) // they joined long ago
		return err
	}))
	eventually(t, "the member is welcomed, and the invitation follows", func() bool { return count(t, db, `SELECT count(*) FROM notifications`) == 2 })
	for name, slot := range map[string]string{
		"anniversary": "2025-05-31T00:00:00Z", "leaderboard_close": "2025-05-31T00:00:00Z", "squad_health": "2025-06-02T14:00:00Z",
		"weekly_digest": "2025-06-02T15:00:00Z", "zombie_threads": "2025-05-31T00:00:00Z",
	} {
		hand := start(t, nil, []string{"DATABASE_URL=" + urlOf(t, db, all.runtime)}, "run", name, "--slot", slot)
		require.NoError(t, hand.Wait(), "%s: %s", name, hand.stderr.String())
		require.Regexp(t, `ran, [1-9]\d* effects`, hand.stdout.String())
	}
	p.terminate(t)
	require.NotContains(t, p.stderr.String(), pgerrcode.InsufficientPrivilege)
	require.NotContains(t, p.stderr.String(), "permission denied")
	require.NotContains(t, p.stderr.String(), `"WARN"`)
}
