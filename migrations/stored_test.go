package migrations_test

import (
	"testing"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// TestStoredByInsert: what a table can refuse, it does, with what to do about it.
func TestStoredByInsert(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	_, err := db.Exec(t.Context(), `
		INSERT INTO worker_kinds (name, service, queue) VALUES ('task', 's', 'default'), ('code', 's', 'slots');
		INSERT INTO worker_schedules (name, cron, zone, gap, fold) VALUES ('code', '@daily', 'UTC', 'run', 'first');
		INSERT INTO worker_schedules (name, cron, zone, sql_statement) VALUES ('there', '@daily', 'UTC', 'SELECT 1')`)
	require.NoError(t, err)

	const insert = `INSERT INTO worker_schedules (name, cron, zone, `
	for statement, want := range map[string]string{
		`INSERT INTO worker_schedules (name, cron, zone) VALUES ('x', '@daily', 'UTC')`:                               `schedule "x": it runs one thing: set sql_statement, or enqueue_kind, or http_endpoint`,
		insert + `sql_statement, enqueue_kind, enqueue_args) VALUES ('x', '@daily', 'UTC', 'SELECT 1', 'task', '{}')`: `schedule "x": it runs one thing: set sql_statement, or enqueue_kind, or http_endpoint`,
		insert + `sql_statement) VALUES ('x', '@daily', 'UTC', ' ')`:                                                  `schedule "x": sql_statement must have 1 to 65536 bytes and not be blank`,
		insert + `sql_statement) VALUES ('code', '@daily', 'UTC', 'SELECT 1')`:                                        `schedule "code": the name is that of a worker: choose another`,
		insert + `sql_statement) VALUES ('task', '@daily', 'UTC', 'SELECT 1')`:                                        `schedule "task": the name is that of a worker: choose another`,
		insert + `sql_statement, http_body) VALUES ('x', '@daily', 'UTC', 'SELECT 1', '{}')`:                          `schedule "x": http_endpoint and http_path go together, and http_body with them`,
		insert + `sql_statement, enqueue_args) VALUES ('x', '@daily', 'UTC', 'SELECT 1', '{}')`:                       `schedule "x": enqueue_kind and enqueue_args go together`,
		insert + `sql_statement, give_up_after) VALUES ('x', '@daily', 'UTC', 'SELECT 1', '11 years')`:                `schedule "x": max_lateness and give_up_after must be at most 10 years`,
		insert + `sql_statement) VALUES ('x', repeat('*', 257), 'UTC', 'SELECT 1')`:                                   `schedule "x": cron must have at most 256 characters, and zone 64`,
		insert + `enqueue_kind, enqueue_args) VALUES ('x', '@daily', 'UTC', 'nothing', '{}')`:                         `schedule "x": enqueue_kind "nothing" is not known: use the name of a task that a replica has registered`,
		insert + `enqueue_kind, enqueue_args) VALUES ('x', '@daily', 'UTC', 'code', '{}')`:                            `schedule "x": enqueue_kind "code" is not known: use the name of a task that a replica has registered`,
		insert + `enqueue_kind) VALUES ('x', '@daily', 'UTC', 'task')`:                                                `schedule "x": enqueue_kind and enqueue_args go together`,
		insert + `enqueue_kind, enqueue_args) VALUES ('x', '@daily', 'UTC', 'task', '[]')`:                            `schedule "x": enqueue_args must be a JSON object of at most 65536 bytes`,
		insert + `enqueue_kind, enqueue_args, min_effects) VALUES ('x', '@daily', 'UTC', 'task', '{}', 1)`:            `schedule "x": min_effects counts the rows that a statement writes: leave it out`,
		insert + `http_endpoint) VALUES ('x', '@daily', 'UTC', 'api')`:                                                `schedule "x": http_endpoint and http_path go together, and http_body with them`,
		insert + `http_endpoint, http_path) VALUES ('x', '@daily', 'UTC', 'https://x', '/')`:                          `schedule "x": http_endpoint must be a name that configuration has, and http_body have at most 65536 bytes`,
		insert + `http_endpoint, http_path) VALUES ('x', '@daily', 'UTC', 'api', '/../admin')`:                        `schedule "x": http_path must be like /jobs/friday: letters, digits and ._~:@- between single slashes, no segment that begins with a dot, no query`,
		insert + `http_endpoint, http_path, overlap) VALUES ('x', '@daily', 'UTC', 'api', '/x', 'skip')`:              `schedule "x": overlap must be allow: while an endpoint is called no transaction is open that could keep the slots apart`,
		insert + `sql_statement) VALUES ('My job', '@daily', 'UTC', 'SELECT 1')`:                                      `schedule "My job": the name must have 1 to 100 characters of a-z, 0-9, "_", "." and "-"`,
		insert + `sql_statement) VALUES (NULL, '@daily', 'UTC', 'SELECT 1')`:                                          `schedule without a name: the name must have 1 to 100 characters of a-z, 0-9, "_", "." and "-"`,
		insert + `sql_statement) VALUES ('x', NULL, 'UTC', 'SELECT 1')`:                                               `schedule "x": cron and zone must be set, and the policy must not be null: leave out what is to be the default`,
		insert + `sql_statement, timeout) VALUES ('x', '@daily', 'UTC', 'SELECT 1', '0')`:                             `schedule "x": timeout must be from 1 second to 24 hours`,
		insert + `sql_statement, max_lateness) VALUES ('x', '@daily', 'UTC', 'SELECT 1', '0')`:                        `schedule "x": max_lateness and give_up_after must be more than 0`,
		insert + `sql_statement, max_count) VALUES ('x', '@daily', 'UTC', 'SELECT 1', 0)`:                             `schedule "x": max_count must be more than 0, and min_effects not less`,
		insert + `sql_statement, catch_up) VALUES ('x', '@daily', 'UTC', 'SELECT 1', 'some')`:                         `schedule "x": catch_up must be all, latest or none`,
		insert + `sql_statement, overlap) VALUES ('x', '@daily', 'UTC', 'SELECT 1', 'never')`:                         `schedule "x": overlap must be allow, skip or wait`,
		insert + `sql_statement, paused_at) VALUES ('x', '@daily', 'UTC', 'SELECT 1', 'infinity')`:                    `schedule "x": paused_at must be the time of the pause: now(), or null`,
		`UPDATE worker_schedules SET paused_at = 'infinity' WHERE name = 'code'`:                                      `schedule "code": paused_at must be the time of the pause: now(), or null`,
		`UPDATE worker_schedules SET name = 'other' WHERE name = 'there'`:                                             `schedule "other": its name and its source stay: delete it and insert another`,
		`UPDATE worker_schedules SET source = 'code' WHERE name = 'there'`:                                            `schedule "there": its name and its source stay: delete it and insert another`,
		`UPDATE worker_schedules SET sql_statement = '' WHERE name = 'there'`:                                         `schedule "there": sql_statement must have 1 to 65536 bytes and not be blank`,
	} {
		_, err := db.Exec(t.Context(), statement)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, statement)
		require.Equal(t, want, refused.Message)
		require.Equal(t, pgerrcode.InvalidParameterValue, refused.Code)
		require.NotContains(t, refused.Detail, "Failing row", "the server's log gets no row")
	}
	for statement, constraint := range map[string]string{
		`UPDATE worker_schedules SET sql_statement = 'SELECT 1' WHERE name = 'code'`:                                              "worker_schedules_code_is_complete",
		insert + `source) VALUES ('x', '@daily', 'UTC', 'code')`:                                                                  "worker_schedules_code_is_complete",
		insert + `sql_statement, source, gap, fold) VALUES ('x', '@daily', 'UTC', 'SELECT 1', 'code', 'run', 'first')`:            "worker_schedules_code_is_complete",
		insert + `sql_statement) VALUES ('there', '@daily', 'UTC', 'SELECT 1')`:                                                   "worker_schedules_pkey",
		`UPDATE worker_schedules SET resolved_through = '-infinity' WHERE name = 'there'`:                                         "worker_schedules_instants",
		`UPDATE worker_schedules SET next_slot = '20000-01-01' WHERE name = 'there'`:                                              "worker_schedules_instants",
		`INSERT INTO worker_runs (name, key, ran_at) VALUES ('there', 'k', 'infinity')`:                                           "worker_runs_instants",
		`INSERT INTO worker_runs (name, key, slot_at) VALUES ('there', 'k', '-infinity')`:                                         "worker_runs_instants",
		`INSERT INTO slot_skips (name, first_slot, last_slot, slots, outcome) VALUES ('x', now(), 'infinity', 1, 'skipped_late')`: "slot_skips_instants",
	} {
		_, err := db.Exec(t.Context(), statement)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused, statement)
		require.Equal(t, constraint, refused.ConstraintName)
	}
	require.Equal(t, 2, count(t, db, `SELECT count(*) FROM worker_schedules`))
}

// H5: a role that may add calls to a task may add nothing else, and sees nothing.
func TestStoredByARoleThatHasNothingElse(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	caller := newCaller(t, db)
	_, err := db.Exec(t.Context(), `INSERT INTO worker_kinds (name, service, queue) VALUES ('task', 's', 'default')`)
	require.NoError(t, err)
	_, err = db.Exec(t.Context(), `GRANT INSERT (name, cron, zone, enqueue_kind, enqueue_args) ON worker_schedules TO `+caller)
	require.NoError(t, err)
	as := func(sql string) error {
		return pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
			if _, err := tx.Exec(t.Context(), `SET LOCAL ROLE `+caller); err != nil {
				return err
			}
			_, err := tx.Exec(t.Context(), sql)
			return err
		})
	}
	require.NoError(t, as(`INSERT INTO worker_schedules (name, cron, zone, enqueue_kind, enqueue_args) VALUES ('mine', '@daily', 'UTC', 'task', '{}')`))
	for _, sql := range []string{
		`INSERT INTO worker_schedules (name, cron, zone, sql_statement) VALUES ('x', '@daily', 'UTC', 'DROP TABLE worker_runs')`,
		`INSERT INTO worker_schedules (name, cron, zone, enqueue_kind, enqueue_args, added_by) VALUES ('x', '@daily', 'UTC', 'task', '{}', 'the boss')`,
		`UPDATE worker_schedules SET cron = '@hourly'`,
		`DELETE FROM worker_schedules`,
		`SELECT cron FROM worker_schedules`,
	} {
		var refused *pgconn.PgError
		require.ErrorAs(t, as(sql), &refused)
		require.Equal(t, pgerrcode.InsufficientPrivilege, refused.Code, sql)
	}
	require.Equal(t, 1, count(t, db, `SELECT count(*) FROM worker_schedules WHERE name = 'mine' AND source = 'stored' AND added_by = session_user AND known_since = next_slot`))
}
