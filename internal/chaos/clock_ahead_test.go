package chaos

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// TestB5ClockAhead runs three replicas of which B has a clock that is ahead,
// then sets B right. The slots are every second, in place of every morning. An
// hour ahead is the case; twenty seconds, so that what B's timers enqueue too early
// becomes due while the test looks on.
func TestB5ClockAhead(t *testing.T) {
	t.Parallel()
	skewed := buildPatched(t, otherClock(t))
	for name, c := range map[string]struct {
		ahead time.Duration
		start string // the first one leads
	}{
		"AnHourLeading":        {time.Hour, "BAC"},
		"AnHourFollowing":      {time.Hour, "ABC"},
		"TwentySecondsLeading": {20 * time.Second, "BAC"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			town := newClockTown(t)
			b := town.replicas["B"]
			b.program, b.env = skewed, append(b.env, fmt.Sprintf("%s=%.0f", skewEnv, c.ahead.Seconds()))
			for i, name := range strings.Split(c.start, "") {
				require.NoError(t, town.replicas[name].start())
				if i == 0 {
					town.await(t, "the first one leads", `SELECT count(*) = 1 FROM river_leader WHERE leader_id LIKE '`+name+`-%'`)
				}
			}
			town.awaitSlots(t, 15)
			town.awaitSlots(t, 1, "B")
			if c.start[0] == 'B' {
				town.await(t, "timers that are ahead enqueue too early", `SELECT count(*) > 0 FROM river_job WHERE (args->>'slot')::timestamptz > clock_timestamp() + interval '5 seconds'`)
			}
			require.Equal(t, 1, town.said(t, "B-001", "this replica's clock is off"))

			require.NoError(t, b.stop())
			b.program, b.env = testProgram(t), b.env[:1]
			require.NoError(t, b.start())
			town.awaitSlots(t, 10)
			town.awaitSlots(t, 1, "B")
			for _, r := range town.replicas {
				require.NoError(t, r.stop())
			}
			town.requireOnceInTime(t)
			for _, history := range []string{"A-001", "B-002", "C-001"} {
				require.Zero(t, town.said(t, history, "clock is off"), history)
			}
		})
	}
}

// clockTown is three replicas with a schedule of one second.
type clockTown struct {
	db       *pgxpool.Pool
	folder   string
	replicas map[string]*replica
}

func newClockTown(t *testing.T) clockTown {
	t.Helper()
	town := clockTown{postgrestest.New(t), t.TempDir(), map[string]*replica{}}
	_, err := town.db.Exec(t.Context(), tablesSQL)
	require.NoError(t, err)
	for _, name := range []string{"A", "B", "C"} {
		r, err := newReplica(name, town.db.Config().ConnString(), town.folder, testProgram(t))
		require.NoError(t, err)
		r.env = []string{versionEnv + "=" + clockVersion}
		town.replicas[name] = r
		t.Cleanup(func() {
			if r.process != nil && r.isRunning() {
				require.NoError(t, r.kill())
			}
			r.proxy.close()
		})
	}
	return town
}

// await waits until a query answers with true.
func (town clockTown) await(t *testing.T, what, sql string, args ...any) {
	t.Helper()
	require.Eventually(t, func() bool {
		var is bool
		err := town.db.QueryRow(t.Context(), sql, args...).Scan(&is)
		return err == nil && is
	}, time.Minute, 50*time.Millisecond, what)
}

// awaitSlots waits for so many more slots, in all or by one replica.
func (town clockTown) awaitSlots(t *testing.T, n int, by ...string) {
	t.Helper()
	pattern := strings.Join(by, "") + "%"
	var before int
	require.NoError(t, town.db.QueryRow(t.Context(), `SELECT count(*) FROM worker_runs WHERE replica LIKE $1`, pattern).Scan(&before))
	town.await(t, "slots go on", `SELECT count(*) >= $2 FROM worker_runs WHERE replica LIKE $1`, pattern, before+n)
	town.await(t, "no slot is left out", `SELECT extract(epoch FROM max(slot_at) - min(slot_at))::int + 1 = count(*) FROM worker_runs`)
}

// said counts the lines of a history that hold a text.
func (town clockTown) said(t *testing.T, history, text string) int {
	t.Helper()
	lines, err := os.ReadFile(filepath.Join(town.folder, history+".jsonl"))
	require.NoError(t, err)
	return strings.Count(string(lines), text)
}

// requireOnceInTime goes by the database's clock: no effect before its slot, or
// so late that the timers and catch-up must have stood still; none twice.
func (town clockTown) requireOnceInTime(t *testing.T) {
	t.Helper()
	var slots, doubled, early int
	var latest float64
	require.NoError(t, town.db.QueryRow(t.Context(), `
		SELECT count(DISTINCT key), count(DISTINCT nonce) - count(DISTINCT key), count(*) FILTER (WHERE written_at < slot),
		       max(extract(epoch FROM written_at - slot)) FROM effects`).Scan(&slots, &doubled, &early, &latest))
	t.Logf("%d slots, the latest %.1f s late", slots, latest)
	require.Zero(t, doubled)
	require.Zero(t, early)
	require.Less(t, latest, 15.0)
	town.await(t, "a claim for each effect", `SELECT count(*) = $1 FROM worker_runs`, slots)
}
