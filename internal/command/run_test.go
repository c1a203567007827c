package command_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/community/demo"
	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// seedDemo settles the demo community, whose week ends at slot.
func seedDemo(t *testing.T, db *pgxpool.Pool, slot time.Time) {
	t.Helper()
	tx, err := db.Begin(t.Context())
	require.NoError(t, err)
	_, err = demo.Seed(t.Context(), tx, slot)
	require.NoError(t, err)
	require.NoError(t, tx.Commit(t.Context()))
}

func rename(t *testing.T, db *pgxpool.Pool, from, to string) {
	t.Helper()
	_, err := db.Exec(t.Context(), `UPDATE sections SET name = $2 WHERE name = $1`, from, to)
	require.NoError(t, err)
}

// TestRenamedSection is the incident's second attempt, by hand.
func TestRenamedSection(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	mexicoCity, err := time.LoadLocation("America/Mexico_City")
	require.NoError(t, err)
	seedDemo(t, db, time.Date(2026, 5, 29, 18, 0, 0, 0, mexicoCity))
	written := func() int {
		return count(t, db, `SELECT (SELECT count(*) FROM token_transactions WHERE period = '2026-W22')
			+ (SELECT count(*) FROM notifications WHERE period = '2026-W22') + (SELECT count(*) FROM threads WHERE period = '2026-W22')`)
	}
	runSlot := []string{"run", "leaderboard_close", "--slot", "2026-05-30T00:00:00Z"}

	rename(t, db, "general", "plaza")
	stdout, stderr, status := run(t, db, runSlot...)
	require.Equal(t, 1, status)
	require.Empty(t, stdout)
	require.Equal(t, "app: claim leaderboard_close@2026-W22: post thread: section \"general\" not found\n", stderr)
	require.Zero(t, written())
	require.Zero(t, count(t, db, `SELECT count(*) FROM worker_runs`))

	rename(t, db, "plaza", "general")
	stdout, stderr, status = run(t, db, runSlot...)
	require.Zero(t, status, stderr)
	require.Contains(t, stdout, "leaderboard_close@2026-W22 (slot 2026-05-30T00:00:00Z): ran, ")
	require.Equal(t, 3+3+1, written())

	stdout, stderr, status = run(t, db, runSlot...)
	require.Zero(t, status, stderr)
	require.Regexp(t, `^leaderboard_close@2026-W22 \(slot 2026-05-30T00:00:00Z\): already ran at \S+Z by manual on replica \S+, \d+ effects\n$`, stdout)
	require.Equal(t, 3+3+1, written())

	stdout, stderr, status = run(t, db, append(runSlot, "--force")...) // K7 (v)
	require.Zero(t, status, stderr)
	require.Regexp(t, `^leaderboard_close@2026-W22 forced \S+Z \(slot 2026-05-30T00:00:00Z\): ran, 0 effects\n$`, stdout)
	require.Equal(t, 3+3+1, written(), "forced, and still nobody is paid twice")
	require.Equal(t, 2, count(t, db, `SELECT count(*) FROM worker_runs WHERE slot_at = '2026-05-30T00:00:00Z'`))
}

func TestExitStatus(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	_, err := db.Exec(t.Context(), `INSERT INTO worker_runs (name, key, ran_at) VALUES ('of_python', 'k', now() - interval '1 year')`)
	require.NoError(t, err)
	for name, c := range map[string]struct {
		args   []string
		status int
		stderr string
	}{
		"UnknownCommand":    {[]string{"sevre"}, 2, `unknown command "sevre"`},
		"UnknownFlag":       {[]string{"run", "beat", "--sloot"}, 2, "unknown flag: --sloot"},
		"NoName":            {[]string{"run"}, 2, "accepts 1 arg(s), received 0"},
		"UnknownSchedule":   {[]string{"run", "leaderbord_close"}, 2, `unknown schedule "leaderbord_close": the registry has anniversary, `},
		"UnknownToAudit":    {[]string{"audit", "nope"}, 2, `unknown schedule "nope"`},
		"UnknownToBackfill": {[]string{"backfill", "nope", "--from", "2026-01-01T00:00:00Z", "--to", "2026-01-02T00:00:00Z"}, 2, `unknown schedule "nope"`},
		"UnknownToNext":     {[]string{"next", "nope"}, 2, `unknown schedule "nope"`},
		"UnknownToPause":    {[]string{"schedules", "pause", "nope"}, 2, `unknown schedule "nope"`},
		"UnknownToResume":   {[]string{"schedules", "resume", "nope"}, 2, `unknown schedule "nope"`},
		"UnknownToRm":       {[]string{"schedules", "rm", "nope"}, 2, `unknown schedule "nope"`},
		"UnknownToRuns":     {[]string{"runs", "nope"}, 2, `unknown schedule "nope": the registry has anniversary, `},
		"UnknownToShow":     {[]string{"schedules", "show", "nope"}, 2, `unknown schedule "nope"`},
		"NoSlot": {
			[]string{"run", "leaderboard_close", "--slot", "2026-05-29T12:00:00Z"}, 2,
			`2026-05-29T12:00:00Z is not a slot of "leaderboard_close": the one before is 2026-05-23T00:00:00Z, the one after 2026-05-30T00:00:00Z`,
		},
		"FutureSlot":   {[]string{"run", "leaderboard_close", "--key", "2099-W22"}, 2, "a coming slot is never run early"}, // K7 (iii)
		"NoSuchWeek":   {[]string{"run", "leaderboard_close", "--key", "2025-W53"}, 2, "2025-W53"},                         // D5
		"NoInstant":    {[]string{"run", "beat", "--slot", "yesterday"}, 2, `--slot "yesterday": write the instant as 2026-05-29T18:00:00-06:00`},
		"BothSlotKey":  {[]string{"run", "beat", "--slot", "2026-05-30T00:00:00Z", "--key", "x"}, 2, "none of the others can be"},
		"BadSince":     {[]string{"runs", "--since", "-1h"}, 2, "must be positive"},
		"DaysSince":    {[]string{"runs", "--since", "30d"}, 2, `app: --since "30d": write the duration as 48h, 30m or 90s; 30 days are 720h`}, // K3
		"DaysLate":     {[]string{"audit", "--late-after", "1d"}, 2, `app: --late-after "1d": write the duration as 48h`},
		"NextNothing":  {[]string{"next"}, 2, "give NAME, or --cron with --zone"},
		"NextBadCron":  {[]string{"next", "--cron", "0 0 30 2 *", "--zone", "UTC"}, 2, "0 0 30 2 *"}, // D1
		"NextBadZone":  {[]string{"next", "--cron", "0 0 * * *", "--zone", "Europe/Berln"}, 2, "Europe/Berln"},
		"NextBadCount": {[]string{"next", "beat", "--count", "0"}, 2, "--count 0"},
		"EmptySlot":    {[]string{"run", "beat", "--slot", ""}, 2, `--slot ""`},
		"ZeroSlot":     {[]string{"run", "beat", "--slot", "0001-01-01T00:00:00Z"}, 2, `--slot "0001-01-01T00:00:00Z"`},
		"EmptyKey":     {[]string{"run", "beat", "--key", ""}, 2, `--key ""`},
		"EmptyFrom":    {[]string{"next", "beat", "--from", ""}, 2, `--from ""`},
		"KeyFormat":    {[]string{"next", "beat", "--key-format", "date"}, 2, "--key-format goes with --cron"},
		"NotQuiteSlot": {[]string{"run", "stuck", "--slot", "2026-01-01T00:00:00.5Z"}, 2, "2026-01-01T00:00:00.5Z is not a slot"},
		"MigrateTypo":  {[]string{"migrate", "upp"}, 2, `unknown command "upp"`},
		"MigrateWhat":  {[]string{"migrate"}, 2, "say up, down or status"},
		"MigrateDown":  {[]string{"migrate", "down"}, 2, "say --yes if that is meant"},
		"DryRun":       {[]string{"run", "stuck", "--dry-run"}, 0, ""},
		"Next":         {[]string{"next", "leaderboard_close"}, 0, ""},
		"Runs":         {[]string{"runs"}, 0, ""},
		"RunsOfATask":  {[]string{"runs", "echo"}, 0, ""},
		"RunsOfOthers": {[]string{"runs", "of_python"}, 0, ""},
		"Schedules":    {[]string{"schedules"}, 0, ""},
		"Status":       {[]string{"migrate", "status"}, 0, ""},
		"Help":         {[]string{"run", "--help"}, 0, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, stderr, status := run(t, db, c.args...)
			require.Equal(t, c.status, status, stderr)
			require.Contains(t, stderr, c.stderr)
			if c.status != 0 {
				require.Regexp(t, `^app: [^\n]+\n$`, stderr, "one line")
			}
		})
	}

	t.Run("NoSchemaYet", func(t *testing.T) {
		t.Parallel()
		_, stderr, status := run(t, postgrestest.NewEmpty(t), "runs")
		require.Equal(t, 1, status)
		require.Contains(t, stderr, "(run: app migrate up)")
	})
}

// TestDatabaseURL is K3: what is wrong is said in one line, without the password.
func TestDatabaseURL(t *testing.T) {
	t.Parallel()
	for _, value := range []string{
		"", "   ", "postgres://u:canary@ss@127.0.0.1:1/d", `"postgres://u:canary@127.0.0.1:1/d"`, "postgresql+asyncpg://u:canary@127.0.0.1:1/d",
		"postgres://u:canary@127.0.0.1:1/d\n", "postgres://u:canary@127.0.0.1:1/d?sslmode=bogus",
	} {
		for _, command := range []string{"serve", "runs", "dev"} {
			if command == "dev" && value == "" {
				continue // app dev brings its own database
			}
			p := start(t, nil, []string{"DATABASE_URL=" + value}, command)
			_ = p.Wait()
			require.Equal(t, 2, p.ProcessState.ExitCode(), "%s with %q: %s", command, value, &p.stderr)
			require.Regexp(t, `^app: [^\n]*DATABASE_URL[^\n]+\n$`, p.stderr.String())
			require.NotContains(t, p.stderr.String(), "canary")
		}
	}
}

func TestEnvironment(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	for value, want := range map[string]string{
		"CLAIM_RETENTION=24h":                     `^app: CLAIM_RETENTION is "24h": set it to 720h \(30 days\) or more, such as 9600h\n$`,
		"CLAIM_RETENTION=1d":                      `^app: CLAIM_RETENTION is "1d": set it to 720h`,
		"LOG_LEVEL=loud":                          `^app: LOG_LEVEL is "loud": set it to DEBUG, INFO, WARN or ERROR`,
		"REPLICA_NAME=" + strings.Repeat("n", 91): "REPLICA_NAME has 91 characters: use at most 90",
		"OTEL_EXPORTER_OTLP_PROTOCOL=grpc":        `^app: OTEL_EXPORTER_OTLP_PROTOCOL is "grpc": set it to http/protobuf`,
		"LOG_FORMAT=xml":                          `^app: LOG_FORMAT is "xml": set it to auto, json or text`,
	} {
		p := start(t, db, []string{value}, "serve")
		_ = p.Wait()
		require.Equal(t, 2, p.ProcessState.ExitCode(), value)
		require.Regexp(t, want, p.stderr.String())
		require.Equal(t, 1, strings.Count(p.stderr.String(), "\n"), "one line")
	}
}

// TestPauseByHand: recorded with who and when; a run by hand is allowed.
func TestPauseByHand(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	_, stderr, status := run(t, db, "schedules", "pause", "beat")
	require.Equal(t, 1, status)
	require.Equal(t, "app: pause schedule \"beat\": not registered: start a replica that has it\n", stderr)

	serve(t, db, "once").terminate(t)
	stdout, stderr, status := run(t, db, "schedules", "pause", "beat", "--reason", "the mail is down")
	require.Zero(t, status, stderr)
	require.Regexp(t, `^beat: paused since \S+Z\n$`, stdout)
	stdout, stderr, status = run(t, db, "schedules", "pause", "beat", "--reason", "another reason")
	require.Zero(t, status, stderr)
	require.Regexp(t, `^beat: already paused since \S+Z by \S+@\S+: the mail is down \(resume it first to record another reason\)\n$`, stdout)
	stdout, _, status = run(t, db, "schedules", "--json")
	require.Zero(t, status)
	require.Regexp(t, `"name": "beat",[^}]*"state": "paused",\s+"paused_by": "\S+@\S+",\s+"paused_reason": "the mail is down"`, stdout)

	_, stderr, status = run(t, db, "run", "beat")
	require.Zero(t, status, stderr)
	eventually(t, "two slots are due", func() bool {
		return count(t, db, `SELECT extract(epoch FROM clock_timestamp() - paused_at)::int FROM worker_schedules WHERE name = 'beat'`) >= 3
	})
	stdout, stderr, status = run(t, db, "schedules", "resume", "beat")
	require.Zero(t, status, stderr)
	require.Regexp(t, `^beat: active, next slot \S+Z\n$`, stdout)
	require.NotZero(t, count(t, db, `SELECT coalesce(sum(slots), 0) FROM slot_skips WHERE name = 'beat' AND outcome = 'skipped_paused'`))

	stdout, _, status = run(t, db, "runs", "beat")
	require.Zero(t, status)
	require.Regexp(t, `(?m)^beat +\S+Z +… \S+Z \(\d+ slots\): paused by \S+@\S+: the mail is down +skipped_paused +`, stdout)
	require.Regexp(t, `(?m)^beat +\S+Z +\S+Z +ran +\S+ +manual +- +1 +`, stdout)
}
