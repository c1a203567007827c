package command_test

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// do runs the app, which must succeed, and returns what it prints.
func do(t *testing.T, db *pgxpool.Pool, args ...string) string {
	t.Helper()
	stdout, stderr, status := run(t, db, args...)
	require.Zero(t, status, "%v: %s", args, stderr)
	return stdout
}

func execute(t *testing.T, db *pgxpool.Pool, sql string) {
	t.Helper()
	_, err := db.Exec(t.Context(), sql)
	require.NoError(t, err)
}

// newTown is a database with the tables that stored schedules write to. None has
// a unique key, so that a double run would show.
func newTown(t *testing.T) *pgxpool.Pool {
	t.Helper()
	db := postgrestest.New(t)
	createBeats(t, db)
	execute(t, db, `CREATE TABLE echoes (text text NOT NULL)`)
	execute(t, db, `CREATE TABLE marks (name text NOT NULL, slot timestamptz NOT NULL, key text NOT NULL, at timestamptz NOT NULL DEFAULT clock_timestamp())`)
	return db
}

// TestStored: schedules that no code has are added while three replicas run, in
// both ways. They fire at their slots, once, until they are removed.
func TestStored(t *testing.T) {
	t.Parallel()
	db := newTown(t)
	for _, name := range []string{"one", "two", "three"} {
		serve(t, db, name)
	}
	require.Contains(t, do(t, db, "schedules", "add", "by_sql", "--cron", "@every 1s", "--zone", "UTC",
		"--sql", "INSERT INTO marks (name, slot, key) VALUES ('$slot', $slot, $key)"), "by_sql: added, first slot 2")
	do(t, db, "schedules", "add", "by_task", "--cron", "@every 1s", "--zone", "UTC", "--enqueue", "echo", "--args", `{"text": "x"}`)
	execute(t, db, `INSERT INTO worker_schedules (name, cron, zone, sql_statement)
		VALUES ('inserted', '@every 1s', 'UTC', 'INSERT INTO marks (name, slot, key) SELECT ''inserted'', $slot, $key')`)
	const adopted = `SELECT count(*) FROM worker_schedules WHERE source = 'stored' AND adopted_at < known_since + interval '2 seconds'`
	eventually(t, "replicas adopt what is new within 2 s", func() bool { return count(t, db, adopted) == 3 })

	const ran = `SELECT count(*) FROM worker_runs WHERE name = $1 AND outcome = 'ran'`
	for _, name := range []string{"by_sql", "by_task", "inserted"} {
		eventually(t, name+" runs", func() bool { return count(t, db, ran, name) >= 4 })
	}
	require.Contains(t, do(t, db, "runs", "by_sql"), "catch_up")
	require.Contains(t, do(t, db, "audit", "by_sql"), "0 missing, 0 doubled, 0 unexpected")
	var done string // not the latest slot, which may still be on its way
	require.NoError(t, db.QueryRow(t.Context(), `SELECT max(key) FROM worker_runs WHERE name = 'inserted' AND outcome = 'ran'`).Scan(&done))
	require.Contains(t, do(t, db, "run", "inserted", "--key", done), "already ran")
	require.Contains(t, do(t, db, "next", "by_task", "--count", "1"), "SLOT")

	do(t, db, "schedules", "pause", "by_sql", "--reason", "a test")
	eventually(t, "its slots are skipped", func() bool {
		return count(t, db, `SELECT count(*) FROM slot_skips WHERE name = 'by_sql' AND outcome = 'skipped_paused'`) >= 2
	})
	require.Contains(t, do(t, db, "schedules", "show", "by_sql"), "paused because  a test")
	do(t, db, "schedules", "resume", "by_sql")
	paused := count(t, db, ran, "by_sql")
	eventually(t, "it goes on", func() bool { return count(t, db, ran, "by_sql") > paused })

	for _, name := range []string{"by_sql", "by_task"} {
		require.Equal(t, name+": removed\n", do(t, db, "schedules", "rm", name))
	}
	execute(t, db, `DELETE FROM worker_schedules WHERE name = 'inserted'`)
	eventually(t, "what was in the queue is over", func() bool {
		return count(t, db, `SELECT count(*) FROM river_job WHERE (kind = 'stored_schedule' OR kind = 'echo') AND finalized_at IS NULL`) == 0
	})
	jobs := count(t, db, `SELECT count(*) FROM river_job WHERE kind = 'stored_schedule'`)
	beats := count(t, db, `SELECT count(*) FROM beats`)
	eventually(t, "other slots come and go", func() bool { return count(t, db, `SELECT count(*) FROM beats`) > beats+3 })
	require.Equal(t, jobs, count(t, db, `SELECT count(*) FROM river_job WHERE kind = 'stored_schedule'`), "nothing fires any more")

	require.Equal(t, count(t, db, ran, "by_sql"), count(t, db, `SELECT count(DISTINCT slot) FROM marks WHERE name = '$slot' AND key = to_char(slot AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')`))
	require.Equal(t, count(t, db, `SELECT count(*) FROM marks`), count(t, db, `SELECT count(DISTINCT (name, slot)) FROM marks`), "each once")
	require.Equal(t, count(t, db, ran, "by_task"), count(t, db, `SELECT count(*) FROM echoes`), "each once")
	require.Zero(t, count(t, db, `SELECT count(*) FROM worker_runs WHERE name = 'by_sql' AND effects IS DISTINCT FROM 1 AND outcome = 'ran'`))
	do(t, db, "audit")

	var late float64
	require.NoError(t, db.QueryRow(t.Context(), `SELECT percentile_cont(0.5) WITHIN GROUP (ORDER BY extract(epoch FROM at - slot)) FROM marks`).Scan(&late))
	require.Less(t, late, 1.0, "at the slot, and not when a timer's patience is over")
	t.Logf("median lateness of a stored slot: %.0f ms", late*1000)
}

// TestStoredRefused: what SQL cannot judge, a replica refuses: it says why, once,
// and nothing else waits for it.
func TestStoredRefused(t *testing.T) {
	t.Parallel()
	db := newTown(t)
	replica := serve(t, db, "one")
	for name, values := range map[string]string{
		"never":     `'0 0 30 2 *', 'UTC', 'instant', 'SELECT 1'`,
		"nowhere":   `'@daily', 'Mars/Olympus', 'instant', 'SELECT 1'`,
		"collides":  `'@daily', 'UTC', 'iso_week', 'SELECT 1'`,
		"no_table":  `'@daily', 'UTC', 'instant', 'DELETE FROM nothing_of_that_name'`,
		"two":       `'@daily', 'UTC', 'instant', 'DELETE FROM marks; DELETE FROM echoes'`,
		"commits":   `'@daily', 'UTC', 'instant', 'COMMIT'`,
		"copies":    `'@daily', 'UTC', 'instant', 'COPY marks FROM STDIN'`,
		"parameter": `'@daily', 'UTC', 'instant', 'SELECT $when'`,
	} {
		execute(t, db, `INSERT INTO worker_schedules (name, cron, zone, key_format, sql_statement) VALUES ('`+name+`', `+values+`)`)
	}
	execute(t, db, `INSERT INTO worker_schedules (name, cron, zone, sql_statement) VALUES ('good', '@every 1s', 'UTC', 'INSERT INTO marks (name, slot, key) VALUES ($key, $slot, $key)')`)
	const refused = `SELECT count(*) FROM worker_schedules WHERE note IS NOT NULL AND next_slot IS NULL AND adopted_at IS NULL`
	eventually(t, "all are refused", func() bool { return count(t, db, refused) == 8 })
	eventually(t, "the good one runs", func() bool { return count(t, db, `SELECT count(*) FROM marks`) > 2 })
	require.Equal(t, 8, strings.Count(replica.stderr.String(), `"stored schedule refused: change or remove it"`), "one line each")

	var states []struct{ Name, State, Note string }
	require.NoError(t, json.Unmarshal([]byte(do(t, db, "schedules", "--json")), &states))
	notes := map[string]string{}
	for _, s := range states {
		if s.State == "refused" {
			notes[s.Name] = s.Note
		}
	}
	require.Equal(t, map[string]string{
		"never":     `schedule "never": cron "0 0 30 2 *": day of month "30" with month "2": never fires, there is no such date`,
		"nowhere":   `schedule "nowhere": cron "@daily": zone "Mars/Olympus": write an IANA name, such as "Europe/Berlin": unknown time zone Mars/Olympus`,
		"collides":  notes["collides"], // names two slots of this week
		"no_table":  `schedule "no_table": sql: relation "nothing_of_that_name" does not exist`,
		"two":       `schedule "two": sql: cannot insert multiple commands into a prepared statement`,
		"commits":   `schedule "commits": sql: the transaction is the claim's: leave out what ends it`,
		"copies":    `schedule "copies": sql: COPY needs a client at the other end: use INSERT … SELECT`,
		"parameter": `schedule "parameter": sql: parameter $when: there are $slot and $key`,
	}, notes)
	require.Contains(t, notes["collides"], `key format "iso_week" gives `)
	require.Contains(t, do(t, db, "schedules", "show", "no_table"), "refused")
	do(t, db, "audit")

	execute(t, db, `UPDATE worker_schedules SET cron = '@every 1s' WHERE name = 'never'`)
	eventually(t, "a mended one runs", func() bool { return count(t, db, `SELECT count(*) FROM worker_runs WHERE name = 'never'`) > 0 })
}

// TestStoredStatementLeavesTheSessionAsItWas: what it sets for the session does
// not reach the slot that gets the connection next.
func TestStoredStatementLeavesTheSessionAsItWas(t *testing.T) {
	t.Parallel()
	db := newTown(t)
	p := serve(t, db, "one")
	execute(t, db, `INSERT INTO worker_schedules (name, cron, zone, sql_statement)
		VALUES ('careless', '@every 1s', 'UTC', 'SET default_transaction_read_only = on')`)
	execute(t, db, `INSERT INTO worker_schedules (name, cron, zone, sql_statement)
		VALUES ('marks', '@every 1s', 'UTC', 'INSERT INTO marks (name, slot, key) VALUES (''marks'', $slot, $key)')`)
	eventually(t, "slots run", func() bool { return count(t, db, `SELECT count(*) FROM marks`) >= 5 })
	p.terminate(t)
	require.NotContains(t, p.stderr.String(), `"slot failed"`)
	require.Contains(t, p.stderr.String(), `"msg":"slot ran","name":"careless"`)
}

// TestNobodyHasAdoptedIt: a row that no replica has judged yet keeps doctor from
// nothing.
func TestNobodyHasAdoptedIt(t *testing.T) {
	t.Parallel()
	db := newTown(t)
	execute(t, db, `INSERT INTO worker_schedules (name, cron, zone, sql_statement) VALUES ('nowhere', '@daily', 'Mars/Olympus', 'SELECT 1')`)
	stdout, _, _ := run(t, db, "doctor", "--json")
	require.NotContains(t, stdout, "read unresolved schedules")
}
