package command_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestAddRefuses: each mistake is one line that says what to do, and exit status
// 2, and nothing is written.
func TestAddRefuses(t *testing.T) {
	t.Parallel()
	db := newTown(t)
	serve(t, db, "one").terminate(t)
	const sql = "--sql=SELECT 1"
	do(t, db, "schedules", "add", "there", "--cron", "@daily", "--zone", "UTC", sql)
	existing := count(t, db, `SELECT count(*) FROM worker_schedules`)

	daily := func(more ...string) []string { return append([]string{"x", "--cron=@daily", "--zone=UTC"}, more...) }
	cron := func(cron string) []string { return []string{"x", "--cron=" + cron, "--zone=UTC", sql} }
	zone := func(zone string) []string { return []string{"x", "--cron=@daily", "--zone=" + zone, sql} }
	named := func(name string) []string { return []string{name, "--cron=@daily", "--zone=UTC", sql} }
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"nothing to run":     {daily(), "say what it runs: one of --sql, --enqueue and --http"},
		"two things":         {daily(sql, "--enqueue=echo", "--args={}"), "say what it runs: one of"},
		"no name":            {[]string{"--cron=@daily", "--zone=UTC", sql}, "accepts between 1 and 2 arg(s), received 0"},
		"no cron":            {[]string{"x", "--zone=UTC", sql}, `required flag(s) "cron" not set`},
		"no zone":            {[]string{"x", "--cron=@daily", sql}, `required flag(s) "zone" not set`},
		"an unknown flag":    {daily(sql, "--every=1h"), "unknown flag: --every"},
		"a name with spaces": {named("my job"), "name must be 1 to 100 of a-z, 0-9, _, . and -"},
		"a long name":        {named(strings.Repeat("x", 101)), "name must be 1 to 100"},
		"a name of the code": {named("leaderboard_close"), "the name is that of a schedule in the code: choose another"},
		"a name of a task":   {named("echo"), "the name is that of a worker: choose another"},
		"the common kind":    {named("stored_schedule"), "the name is that of a worker: choose another"},
		"a name that is there": {named("there"),
			`schedule "there": there is one of this name: remove it first (app schedules rm there), or change it in SQL`},

		"six fields":         {cron("0 0 4 * * *"), "has 6 fields, write 5"},
		"empty cron":         {cron(""), "has 0 fields, write 5"},
		"never":              {cron("0 0 30 2 *"), "never fires, there is no such date"},
		"reboot":             {cron("@reboot"), `unknown descriptor "@reboot"`},
		"a step too large":   {cron("*/90 * * * *"), "minute"},
		"a backward range":   {cron("0 0 * * FRI-MON"), "runs backwards"},
		"a zone inside":      {cron("TZ=UTC 0 4 * * *"), "take TZ= out"},
		"half a second":      {cron("@every 500ms"), "use whole seconds"},
		"no zone name":       {zone(""), "the host's zone is never used"},
		"the host's zone":    {zone("Local"), "is whatever the host says"},
		"an unknown zone":    {zone("Mars/Olympus"), "unknown time zone Mars/Olympus"},
		"an abbreviation":    {zone("utc+1"), "not an IANA name"},
		"colliding keys":     {daily(sql, "--key-format=month"), "use \"instant\" or a rarer cron"},
		"no key format":      {daily(sql, "--key-format=hash"), "key \"hash\": use one of"},
		"no gap":             {daily(sql, "--gap=maybe"), `gap "maybe": use one of`},
		"a gap of intervals": {append(cron("@every 1h"), "--gap=run"), "an interval has no wall times"},
		"no fold":            {daily(sql, "--fold=third"), `fold "third": use one of`},
		"no catch-up":        {daily(sql, "--catch-up=some"), `catch-up "some": use one of`},
		"no overlap":         {daily(sql, "--overlap=yes"), `overlap "yes": use one of`},
		"negative lateness":  {daily(sql, "--max-lateness=-1h"), "max lateness -1h0m0s: use more than 0"},
		"endless lateness":   {daily(sql, "--max-lateness=100000h"), "must be at most 10 years"},
		"negative count":     {daily(sql, "--max-count=-1"), "max count -1: use more than 0"},
		"no duration":        {daily(sql, "--give-up-after=soon"), `--give-up-after "soon": write the duration as 48h, 30m or 90s`},
		"a short timeout":    {daily(sql, "--timeout=1ms"), "timeout 1ms: use 1s to 24h0m0s"},
		"a long timeout":     {daily(sql, "--timeout=48h"), "timeout 48h0m0s: use 1s to 24h0m0s"},
		"negative effects":   {daily(sql, "--min-effects=-1"), "min effects -1: use 0 or more"},

		"an empty statement":  {daily("--sql="), `--sql "": it is empty`},
		"only a comment":      {daily("--sql=-- later; /* or /* never */ */ ;"), "there is no statement"},
		"a syntax error":      {daily("--sql=SELEC 1"), `sql: syntax error at or near "SELEC"`},
		"two statements":      {daily("--sql=SELECT 1; SELECT 2"), "sql: cannot insert multiple commands into a prepared statement"},
		"a commit":            {daily("--sql=/* x */ COMMIT"), "the transaction is the claim's"},
		"an unknown table":    {daily("--sql=DELETE FROM nothing"), `sql: relation "nothing" does not exist`},
		"an unknown column":   {daily("--sql=DELETE FROM marks WHERE age > 3"), `sql: column "age" does not exist`},
		"types that differ":   {daily("--sql=DELETE FROM marks WHERE slot = $key"), "sql: operator does not exist: timestamp with time zone = text"},
		"an unknown name":     {daily("--sql=SELECT $when"), "sql: parameter $when: there are $slot and $key"},
		"a number":            {daily("--sql=SELECT $1"), "sql: parameter $1: there are $slot and $key"},
		"a long statement":    {daily("--sql=SELECT '" + strings.Repeat("x", 70_000) + "'"), "sql_statement must have 1 to 65536 bytes"},
		"a path without http": {daily("/jobs/x", sql), "--http and PATH go together"},

		"an unknown kind":      {daily("--enqueue=nothing", "--args={}"), `enqueue_kind "nothing" is not known`},
		"a schedule as kind":   {daily("--enqueue=leaderboard_close", "--args={}"), `enqueue_kind "leaderboard_close" is not known: use the name of a task`},
		"no args":              {daily("--enqueue=echo"), "--enqueue and --args go together"},
		"args without enqueue": {daily(sql, "--args={}"), "--enqueue and --args go together"},
		"args that are a list": {daily("--enqueue=echo", "--args=[1]"), "enqueue_args must be a JSON object"},
		"args that are no JSON": {daily("--enqueue=echo", "--args={"),
			"invalid input syntax for type json"},
		"a NUL in the args": {daily("--enqueue=echo", `--args={"text": "\u0000"}`), "unsupported Unicode escape sequence"},
		"effects of a task": {daily("--enqueue=echo", "--args={}", "--min-effects=1"), "min_effects counts the rows that a statement writes"},

		"no path":             {daily("--http=api"), "--http and PATH go together"},
		"a body without http": {daily(sql, "--body={}"), "--http and PATH go together"},
		"an unknown endpoint": {daily("--http=api", "/jobs/x"), `unknown endpoint "api": configured here: none`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			stdout, stderr, status := run(t, db, append([]string{"schedules", "add"}, c.args...)...)
			require.Equal(t, 2, status, stderr)
			require.Empty(t, stdout)
			require.Contains(t, stderr, c.want)
			require.Equal(t, 1, strings.Count(stderr, "\n"), "one line: %s", stderr)
			require.Equal(t, existing, count(t, db, `SELECT count(*) FROM worker_schedules`))
		})
	}
	t.Run("rm", func(t *testing.T) {
		t.Parallel()
		for name, want := range map[string]string{
			"nothing":           `app: unknown schedule "nothing": app schedules lists them`,
			"leaderboard_close": `app: schedule "leaderboard_close": it is in the code: remove it there, or pause it (app schedules pause leaderboard_close)`,
		} {
			_, stderr, status := run(t, db, "schedules", "rm", name)
			require.Equal(t, 2, status)
			require.Equal(t, want+"\n", stderr)
		}
	})
}
