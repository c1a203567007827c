package workers_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/postgres/postgrestest"
	"github.com/ranura/ranura/internal/workers"
)

// node is a replica whose workers work by themselves, and whose catch-up passes
// when the test says so.
type node struct {
	replica
	*periodic.CatchUp
}

// boot starts a node, which has not registered its schedules yet.
func boot(t *testing.T, db *pgxpool.Pool, entries ...workers.Entry) node {
	t.Helper()
	started, err := periodic.Now(t.Context(), db)
	require.NoError(t, err)
	a := start(t, db, entries...)
	return node{a, &periodic.CatchUp{
		DB: db, Client: a.Client, Entries: newRegistry(t, entries...).Entries(),
		Replica: "a-1", Service: "ranura", StartedAt: started, Log: slog.New(slog.DiscardHandler),
	}}
}

func (n node) stop(t *testing.T) { t.Helper(); require.NoError(t, n.StopAndCancel(t.Context())) }

// pass is one pass of each of the nodes, one after the other, and the sum of what
// they did.
func pass(t *testing.T, nodes ...node) (enqueued int, skipped int64) {
	t.Helper()
	for _, n := range nodes {
		one, err := n.RunOnce(t.Context())
		require.NoError(t, err)
		enqueued, skipped = enqueued+one.Enqueued, skipped+one.Skipped
	}
	return enqueued, skipped
}

// bootAtOnce lets the nodes register and pass at the same time, as replicas do
// that come up together.
func bootAtOnce(t *testing.T, nodes ...node) (enqueued int, skipped int64) {
	t.Helper()
	passes := make([]periodic.Pass, len(nodes))
	var group errgroup.Group
	for i, n := range nodes {
		group.Go(func() (err error) {
			if err = n.Register(t.Context()); err == nil {
				passes[i], err = n.RunOnce(t.Context())
			}
			return err
		})
	}
	require.NoError(t, group.Wait())
	for _, one := range passes {
		enqueued, skipped = enqueued+one.Enqueued, skipped+one.Skipped
	}
	return enqueued, skipped
}

// clockAt sets the database's clock.
func clockAt(t *testing.T, db *pgxpool.Pool, text string) {
	t.Helper()
	at, err := time.Parse(time.RFC3339, text)
	require.NoError(t, err)
	postgrestest.StopClock(t, db, at)
}

// ran are the runs of a schedule, by slot.
func ran(t *testing.T, db *pgxpool.Pool, name string) []string {
	t.Helper()
	return texts(t, db, `SELECT concat_ws(' ', to_char(slot_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"'), nullif(key, to_char(slot_at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"')), outcome)
		FROM worker_runs WHERE name = $1 ORDER BY slot_at`, name)
}

// awaitRuns waits until so many slots have their row, and wants one effect for
// each, of a first attempt.
func awaitRuns(t *testing.T, db *pgxpool.Pool, n int) {
	t.Helper()
	require.Eventually(t, func() bool { return count(t, db, `SELECT count(*) FROM river_job WHERE state <> 'completed'`) == 0 }, patience, 5*time.Millisecond)
	requireTotals(t, db, n, n)
	require.Equal(t, n, count(t, db, `SELECT count(DISTINCT key) FROM effects`))
	require.Zero(t, count(t, db, `SELECT count(*) FROM river_job WHERE errors IS NOT NULL`))
}

func skips(t *testing.T, db *pgxpool.Pool) []string {
	t.Helper()
	return texts(t, db, `SELECT concat_ws(' ', outcome, slots, to_char(first_slot AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"'),
		to_char(last_slot AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI"Z"')) FROM slot_skips ORDER BY id`)
}

// alone fails if another slot of the schedule is at work.
func alone(ctx context.Context, tx pgx.Tx, _ periodic.Slot) error {
	_, err := tx.Exec(ctx, `SELECT 1 / pg_try_advisory_xact_lock(7)::int, pg_sleep(0.05)`)
	return err
}

// TestB2AllReplicasWereDownOverNewYear: what three replicas make of three missed
// Mondays when they boot together.
func TestB2AllReplicasWereDownOverNewYear(t *testing.T) {
	t.Parallel()
	const month = 30 * 24 * time.Hour
	for name, c := range map[string]struct {
		policy       periodic.Policy
		ran, skipped []string
	}{
		"All": {periodic.Policy{CatchUp: periodic.All, MaxLateness: month}, []string{
			"2026-12-21T00:00Z 2026-W52 ran", "2026-12-28T00:00Z 2026-W53 ran", "2027-01-04T00:00Z 2027-W01 ran",
		}, nil},
		"Latest": {periodic.Policy{CatchUp: periodic.Latest, MaxLateness: month}, []string{
			"2027-01-04T00:00Z 2027-W01 ran",
		}, []string{"skipped_superseded 2 2026-12-21T00:00Z 2026-12-28T00:00Z"}},
		"None":               {periodic.Policy{CatchUp: periodic.None, MaxLateness: month}, nil, []string{"skipped_late 3 2026-12-21T00:00Z 2027-01-04T00:00Z"}},
		"SevenDaysByDefault": {periodic.Policy{}, []string{"2027-01-04T00:00Z 2027-W01 ran"}, []string{"skipped_late 2 2026-12-21T00:00Z 2026-12-28T00:00Z"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newEffects(t)
			c.policy.Overlap = periodic.Wait
			mondays := workers.On(probe{alone}, periodic.Definition{Cron: "0 0 * * 1", Zone: "UTC", Key: periodic.ISOWeek, Policy: c.policy})
			clockAt(t, db, "2026-12-13T12:00:00Z")
			before := boot(t, db, mondays)
			require.NoError(t, before.Register(t.Context()))
			clockAt(t, db, "2026-12-14T00:00:02Z")
			pass(t, before)
			awaitRuns(t, db, 1)
			before.stop(t)

			clockAt(t, db, "2027-01-05T12:00:00Z")
			nodes := []node{boot(t, db, mondays), boot(t, db, mondays), boot(t, db, mondays)}
			enqueued, _ := bootAtOnce(t, nodes...)
			again, _ := pass(t, nodes...) // one that found the schedule in another's hands has nothing left to do
			require.Equal(t, len(c.ran), enqueued)
			require.Zero(t, again)
			awaitRuns(t, db, 1+len(c.ran))
			want := append([]string{"2026-12-14T00:00Z 2026-W51 ran"}, c.ran...)
			require.Equal(t, want, ran(t, db, "probe"))
			require.Equal(t, texts(t, db, `SELECT key FROM worker_runs ORDER BY slot_at`), texts(t, db, `SELECT key FROM effects ORDER BY ctid`), "the oldest first")
			require.ElementsMatch(t, c.skipped, skips(t, db))
		})
	}
}

// TestB3MoreThanAHundredWereMissed: the newest hundred run, the others are on
// record, and the schedule goes on.
func TestB3MoreThanAHundredWereMissed(t *testing.T) {
	t.Parallel()
	db := newEffects(t)
	minutely := workers.On(probe{}, periodic.Definition{Cron: "* * * * *", Zone: "UTC"})
	clockAt(t, db, "2026-06-01T08:28:30Z")
	before := boot(t, db, minutely)
	require.NoError(t, before.Register(t.Context()))
	clockAt(t, db, "2026-06-01T08:29:02Z")
	pass(t, before)
	awaitRuns(t, db, 1)
	before.stop(t)

	clockAt(t, db, "2026-06-01T10:21:30Z")
	a := boot(t, db, minutely)
	enqueued, skipped := bootAtOnce(t, a)
	require.Equal(t, 100, enqueued)
	require.EqualValues(t, 12, skipped)
	awaitRuns(t, db, 101)
	want := []string{"2026-06-01T08:29Z ran"}
	for at := time.Date(2026, 6, 1, 8, 42, 0, 0, time.UTC); len(want) < 101; at = at.Add(time.Minute) {
		want = append(want, at.Format("2006-01-02T15:04Z")+" ran")
	}
	require.Equal(t, "2026-06-01T10:21Z ran", want[100])
	require.Equal(t, want, ran(t, db, "probe"))
	require.Equal(t, []string{"skipped_capped 12 2026-06-01T08:30Z 2026-06-01T08:41Z"}, skips(t, db))

	clockAt(t, db, "2026-06-01T10:22:02Z")
	pass(t, a)
	awaitRuns(t, db, 102)
	require.Equal(t, append(want, "2026-06-01T10:22Z ran"), ran(t, db, "probe"))
}

// second is another probe.
type second struct{ probe }

func (second) Name() string { return "second" }

// TestB6AFirstDeployFillsNoHistory: a schedule owes its slots from its first
// registration on, which those who come later do not move.
func TestB6AFirstDeployFillsNoHistory(t *testing.T) {
	t.Parallel()
	db := newEffects(t)
	fives := periodic.Definition{Cron: "*/5 * * * *", Zone: "UTC", Policy: periodic.Policy{CatchUp: periodic.All, MaxLateness: 30 * 24 * time.Hour}}
	since := func(name string) []string {
		return texts(t, db, `SELECT to_char(known_since AT TIME ZONE 'UTC', 'MM-DD HH24:MI:SS') FROM worker_schedules WHERE name = $1`, name)
	}
	var nodes []node
	for _, boots := range []string{"2026-06-01T12:02:00Z", "2026-06-01T12:03:00Z", "2026-06-01T12:04:30Z"} {
		clockAt(t, db, boots)
		nodes = append(nodes, boot(t, db, workers.On(probe{}, fives)))
		require.NoError(t, nodes[len(nodes)-1].Register(t.Context()))
		pass(t, nodes...)
	}
	clockAt(t, db, "2026-06-01T12:04:59Z")
	pass(t, nodes...)
	require.Zero(t, count(t, db, `SELECT count(*) FROM river_job`), "nothing is owed before 12:05")
	require.Equal(t, []string{"06-01 12:02:00"}, since("probe"))

	clockAt(t, db, "2026-06-01T12:05:00Z")
	enqueued, _ := pass(t, nodes...)
	require.Equal(t, 1, enqueued)
	awaitRuns(t, db, 1)
	require.Equal(t, []string{"2026-06-01T12:05Z ran"}, ran(t, db, "probe"))

	for _, n := range nodes {
		n.stop(t)
	}

	// A week later a second schedule comes. The first one has had its slots.
	write(t, db, `UPDATE worker_schedules SET enqueued_through = '2026-06-08T12:00Z', resolved_through = '2026-06-08T12:00Z', next_slot = '2026-06-08T12:05Z'`)
	clockAt(t, db, "2026-06-08T12:02:00Z")
	later := boot(t, db, workers.On(probe{}, fives), workers.On(second{}, fives))
	enqueued, _ = bootAtOnce(t, later)
	require.Zero(t, enqueued)
	clockAt(t, db, "2026-06-08T12:05:00Z")
	enqueued, _ = pass(t, later)
	require.Equal(t, 2, enqueued)
	require.Eventually(t, func() bool { return count(t, db, `SELECT count(*) FROM worker_runs`) == 3 }, patience, 5*time.Millisecond)
	require.Equal(t, []string{"2026-06-08T12:05Z ran"}, ran(t, db, "second"))
	require.Equal(t, []string{"2026-06-01T12:05Z ran", "2026-06-08T12:05Z ran"}, ran(t, db, "probe"))
	require.Equal(t, []string{"06-08 12:02:00"}, since("second"))
	require.Equal(t, []string{"06-01 12:02:00"}, since("probe"))
	require.Empty(t, skips(t, db))
}
