package command_test

import (
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres"
	"github.com/ranura/ranura/internal/postgres/postgrestest"
	"github.com/ranura/ranura/migrations"
)

// diagnosis is what `app doctor --json` says of one check.
type diagnosis struct{ Check, Status, Found, Do string }

// examine runs the doctor and returns its findings by check. The exit status
// must be 1 if and only if something is wrong.
func examine(t *testing.T, databaseURL string, env ...string) map[string]diagnosis {
	t.Helper()
	p := start(t, nil, append([]string{"DATABASE_URL=" + databaseURL, asApp + "=years"}, env...), "doctor", "--json")
	_ = p.Wait()
	var list []diagnosis
	require.NoError(t, json.Unmarshal([]byte(p.stdout.String()), &list), p.stderr.String())
	found, wrong := make(map[string]diagnosis), 0
	for _, d := range list {
		found[d.Check] = d
		if d.Status == "wrong" {
			wrong++
			require.NotEmpty(t, d.Do, "what to do about it: %v", d)
		}
	}
	if wrong > 0 {
		require.Equal(t, fmt.Sprintf("app: doctor: %d of %d checks found something wrong\n", wrong, len(list)), p.stderr.String())
	}
	require.Equal(t, min(wrong, 1), p.ProcessState.ExitCode())
	return found
}

func requireWrong(t *testing.T, d diagnosis, found, do string) {
	t.Helper()
	require.Equal(t, "wrong", d.Status, d)
	require.Regexp(t, found, d.Found)
	require.Contains(t, d.Do, do)
}

// The server is one with Postgres's own settings: those of the other tests forget
// what a crash takes.
func TestDoctorFindsNothingWrongWithAHealthyService(t *testing.T) {
	t.Parallel()
	server, err := postgres.Start(t.Context())
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, server.Stop()) })
	db, err := pgxpool.New(t.Context(), server.URL)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	_, err = migrations.Up(t.Context(), db)
	require.NoError(t, err)

	replica := start(t, db, []string{"REPLICA_NAME=well", asApp + "=plain"}, "serve")
	eventually(t, "it leads", func() bool { return count(t, db, `SELECT count(*) FROM river_leader`) == 1 })
	for check, d := range examine(t, server.URL, asApp+"=plain") {
		require.Equal(t, "ok", d.Status, "%s: %v", check, d)
	}
	said := start(t, db, []string{asApp + "=plain"}, "doctor")
	require.NoError(t, said.Wait())
	require.Regexp(t, `(?m)^ok      replicas +well-`, said.stdout.String())
	require.Equal(t, 18, strings.Count(said.stdout.String(), "\n"), "a header, and one line for each check")
	replica.terminate(t)

	execute(t, db, `ALTER SYSTEM SET fsync = off`)
	execute(t, db, `ALTER SYSTEM SET synchronous_commit = off`)
	reload(t, db, "fsync", "off")
	requireWrong(t, examine(t, server.URL)["durability"], `^fsync, synchronous_commit off$`, "turn it on")

	execute(t, db, `ALTER SYSTEM SET default_transaction_read_only = on`) // H2
	reload(t, db, "default_transaction_read_only", "on")
	found := examine(t, server.URL)
	requireWrong(t, found["connection"], `read.?only`, "writable")
	require.Equal(t, "skipped", found["overdue slots"].Status)
}

// reload makes the server read its settings, and waits until it has.
func reload(t *testing.T, db *pgxpool.Pool, setting, want string) {
	t.Helper()
	execute(t, db, `SELECT pg_reload_conf()`)
	eventually(t, "the server has reloaded", func() bool {
		return count(t, db, `SELECT count(*) FROM pg_settings WHERE name = $1 AND setting = $2`, setting, want) == 1
	})
}

func TestDoctorFindsWhatIsWrongWithTheDatabase(t *testing.T) {
	t.Parallel()

	t.Run("NobodyAnswers", func(t *testing.T) {
		t.Parallel()
		found := examine(t, "postgres://someone:canary@127.0.0.1:1/nowhere")
		requireWrong(t, found["connection"], "connection refused", "check DATABASE_URL")
		require.NotContains(t, fmt.Sprint(found), "canary")
	})

	t.Run("AnEmptyDatabase", func(t *testing.T) {
		t.Parallel()
		requireWrong(t, examine(t, postgrestest.NewEmpty(t).Config().ConnString())["migrations"], `pending: river 1, .*ranura 5`, "app migrate up")
	})

	t.Run("ARoleWithoutRights", func(t *testing.T) { // H5
		t.Parallel()
		db := postgrestest.New(t)
		all := newRoles(t, db)
		require.Equal(t, "ok", examine(t, urlOf(t, db, all.runtime))["privileges"].Status, "the published script grants what the doctor asks for")
		requireWrong(t, examine(t, urlOf(t, db, all.reader))["privileges"], `lacks DELETE on replicas, .*EXECUTE on claim_run.*USAGE on river_job_id_seq`, "deploy/grants.sql")
		execute(t, db, `REVOKE UPDATE ON worker_schedules FROM `+all.runtime)
		requireWrong(t, examine(t, urlOf(t, db, all.runtime))["privileges"], `^the role lacks UPDATE on worker_schedules$`, "deploy/grants.sql")
	})

	t.Run("TooFewConnections", func(t *testing.T) { // H7
		t.Parallel()
		db := postgrestest.New(t)
		all := newRoles(t, db)
		execute(t, db, `ALTER ROLE `+all.runtime+` CONNECTION LIMIT 24`)
		requireWrong(t, examine(t, urlOf(t, db, all.runtime))["connections"], `^a replica may use 25, 1 live, the role allows 24$`, "allow 25 or more")
		execute(t, db, `ALTER ROLE `+all.runtime+` CONNECTION LIMIT 25`)
		require.Equal(t, "ok", examine(t, urlOf(t, db, all.runtime))["connections"].Status)
	})

	t.Run("AnotherClock", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.New(t)
		shadow(t, db, `CREATE FUNCTION clock_timestamp() RETURNS timestamptz LANGUAGE sql AS 'SELECT now() - interval ''1 hour'''`)
		requireWrong(t, examine(t, db.Config().ConnString())["clock"], `^this machine's clock is off by 1h0m0s$`, "NTP")
	})

	t.Run("StaleZoneData", func(t *testing.T) { // C6
		t.Parallel()
		db := postgrestest.New(t)
		requireWrong(t, examine(t, db.Config().ConnString(), "ZONEINFO="+staleZones(t))["zone data"],
			`^2026-04-06T15:00:00Z in America/Mexico_City is 2026-04-06 09:00:00, this machine says 2026-04-06 10:00:00$`, "update the system's tzdata")
		shadow(t, db, `CREATE FUNCTION to_char(timestamptz, text) RETURNS text LANGUAGE sql AS 'SELECT pg_catalog.to_char($1 + interval ''1 hour'', $2)'`)
		requireWrong(t, examine(t, db.Config().ConnString())["zone data"], `^2026-04-06T15:00:00Z in America/Mexico_City is 2026-04-06 09:00:00, the server says 2026-04-06 10:00:00$`, "update its tzdata")
	})
}

// shadow makes a function stand in for the server's own.
func shadow(t *testing.T, db *pgxpool.Pool, create string) {
	t.Helper()
	execute(t, db, create)
	execute(t, db, fmt.Sprintf(`ALTER DATABASE %s SET search_path = public, pg_catalog`, db.Config().ConnConfig.Database))
}

// staleZones is a folder of zone data from before Mexico ended summer time.
func staleZones(t *testing.T) string {
	t.Helper()
	folder := t.TempDir()
	header := "TZif2" + strings.Repeat("\x00", 15)
	counts := strings.Repeat("\x00", 16) + "\x00\x00\x00\x01\x00\x00\x00\x04"
	zone := "\xff\xff\xab\xa0\x00\x00CST\x00" // six hours behind
	file := header + counts + zone + header + counts + zone + "\nCST6CDT,M4.1.0,M10.5.0\n"
	require.NoError(t, os.MkdirAll(filepath.Join(folder, "America"), 0o700))
	require.NoError(t, os.WriteFile(filepath.Join(folder, "America", "Mexico_City"), []byte(file), 0o600))
	return folder
}

func TestDoctorFindsWhatIsWrongWithTheService(t *testing.T) {
	t.Parallel()
	db := oweOneSlot(t) // and no replica lives
	execute(t, db, `
		INSERT INTO replicas (id, service, host, version, schedules, last_seen_at) VALUES ('old-1', 'ranura', 'h', 'v', '{}', '2026-01-01Z');
		UPDATE worker_schedules SET next_slot = enqueued_through;
		INSERT INTO worker_schedules (name, cron, zone, key_format, gap, fold) VALUES ('forgotten', '@daily', 'UTC', 'instant', 'run', 'first');
		INSERT INTO river_job (kind, args, queue, max_attempts) VALUES ('nobodys', '{}', 'default', 25);
		INSERT INTO river_job (kind, args, queue, max_attempts, state, finalized_at) VALUES ('stuck', '{"key": "k"}', 'slots', 25, 'discarded', now())`)
	found := examine(t, db.Config().ConnString())
	requireWrong(t, found["replicas"], `^no replica of "ranura" lives$`, "app serve")
	requireWrong(t, found["leader"], `^nobody leads$`, "wait")
	requireWrong(t, found["schedules"], `^forgotten is stored, and not in this program$`, "retires")
	requireWrong(t, found["unknown jobs"], `^no replica knows nobodys \(1\)$`, "deploy")
	requireWrong(t, found["overdue slots"], `^1, the oldest is stuck@\d{4}-01-01T00:00:00Z, due at`, "app run NAME")
	requireWrong(t, found["failed jobs"], `^given up: stuck \(1\)$`, "River's page")
	requireWrong(t, found["retention"], `^claims are kept for 9600h0m0s, and "stuck" may run a slot 876024h0m0s late$`, "CLAIM_RETENTION")
	requireWrong(t, found["durability"], `^fsync, full_page_writes off$`, "turn it on") // the tests' servers need none

	execute(t, db, `INSERT INTO replicas (id, service, host, version, schedules) VALUES ('new-1', 'ranura', 'h', 'v', '{}')`)
	requireWrong(t, examine(t, db.Config().ConnString())["replicas"], `^silent: old-1 \(since 2026-01-01 `, "beat failed")
}
