package periodic_test

import (
	"context"
	"fmt"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// slotArgs are the arguments of a schedule's jobs; the kind is its name.
type slotArgs struct {
	Key  string    `json:"key" river:"unique"`
	Slot time.Time `json:"slot"`
	kind string
}

func (a slotArgs) Kind() string { return a.kind }

func entry(t *testing.T, name string, d periodic.Definition) periodic.Entry {
	t.Helper()
	if d.Zone == "" {
		d.Zone = "UTC"
	}
	s, err := periodic.Parse(name, d)
	require.NoError(t, err)
	return periodic.Entry{Schedule: s, Args: func(slot periodic.Slot) river.JobArgs {
		return slotArgs{Key: slot.Key, Slot: slot.At, kind: name}
	}}
}

// town is a database with replicas that only catch up.
type town struct{ *pgxpool.Pool }

func newTown(t *testing.T) town {
	t.Helper()
	return town{postgrestest.New(t)}
}

// replica registers schedules, as a replica that starts now.
func (db town) replica(t *testing.T, entries ...periodic.Entry) *periodic.CatchUp {
	t.Helper()
	now, err := periodic.Now(t.Context(), db)
	require.NoError(t, err)
	c := db.catchUp(t, now, entries...)
	require.NoError(t, c.Register(t.Context()))
	return c
}

func (db town) catchUp(t *testing.T, startedAt time.Time, entries ...periodic.Entry) *periodic.CatchUp {
	t.Helper()
	client, err := river.NewClient(riverpgxv5.New(db.Pool), &river.Config{SkipUnknownJobCheck: true})
	require.NoError(t, err)
	return &periodic.CatchUp{
		DB: db.Pool, Client: client, Entries: entries, Replica: "a-1", Service: "ranura", StartedAt: startedAt, Log: slog.New(slog.DiscardHandler),
	}
}

func (db town) exec(t *testing.T, sql string, args ...any) {
	t.Helper()
	_, err := db.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func (db town) strings(t *testing.T, sql string, args ...any) []string {
	t.Helper()
	rows, err := db.Query(t.Context(), sql, args...)
	require.NoError(t, err)
	texts, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return texts
}

// lastRan is as if all slots had been settled up to an instant, and
// nobody has been there since.
func (db town) lastRan(t *testing.T, at time.Time) {
	t.Helper()
	db.exec(t, `UPDATE worker_schedules SET enqueued_through = $1, resolved_through = $1, next_slot = $1`, at)
}

// jobs are the slots in the queue, in the order in which they will start.
func (db town) jobs(t *testing.T, name string) []string {
	t.Helper()
	return db.strings(t, `SELECT args->>'key' FROM river_job WHERE kind = $1 AND state = 'available' ORDER BY priority, scheduled_at, id`, name)
}

func (db town) skips(t *testing.T, name string) []string {
	t.Helper()
	return db.strings(t, `SELECT concat_ws(' ', outcome, slots, to_char(first_slot AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI'),
		to_char(last_slot AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI')) FROM slot_skips WHERE name = $1 ORDER BY id`, name)
}

func (db town) pass(t *testing.T, c *periodic.CatchUp) periodic.Pass {
	t.Helper()
	pass, err := c.RunOnce(t.Context())
	require.NoError(t, err)
	return pass
}

func TestCatchUp(t *testing.T) {
	t.Parallel()

	t.Run("B6AFirstDeployOwesNothing", func(t *testing.T) {
		t.Parallel()
		db := newTown(t)
		c := db.replica(t, entry(t, "five", periodic.Definition{Cron: "*/5 * * * *"}))
		require.Zero(t, db.pass(t, c).Enqueued)
		require.Empty(t, db.jobs(t, "five"))
		require.Empty(t, db.skips(t, "five"))
	})

	t.Run("B1AWeeklySlotSurvivesADailyRestart", func(t *testing.T) {
		t.Parallel()
		db := newTown(t)
		weekly := entry(t, "weekly", periodic.Definition{Cron: "0 0 * * 1", Key: periodic.ISOWeek})
		db.replica(t, weekly)
		now, err := periodic.Now(t.Context(), db)
		require.NoError(t, err)
		monday, ok := weekly.Schedule.Latest(now)
		require.True(t, ok)
		db.lastRan(t, monday.At.Add(-30*time.Second)) // all replicas stopped half a minute before the slot
		for range 3 {                                 // and started after it, and again every twelve hours
			db.pass(t, db.replica(t, weekly))
		}
		require.Equal(t, []string{monday.Key}, db.jobs(t, "weekly"))
		require.Empty(t, db.skips(t, "weekly"))
	})

	t.Run("WhatIsMissingIsEnqueuedOldestFirstAndOnce", func(t *testing.T) {
		t.Parallel()
		db := newTown(t)
		a := db.replica(t, entry(t, "hourly", periodic.Definition{Cron: "@hourly"}))
		b := db.replica(t, a.Entries...)
		now, err := periodic.Now(t.Context(), db)
		require.NoError(t, err)
		hour := now.Truncate(time.Hour)
		db.lastRan(t, hour.Add(-3*time.Hour))
		pass := db.pass(t, a)
		require.Equal(t, 3, pass.Enqueued)
		require.Equal(t, hour.Add(time.Hour).UTC(), pass.Next.UTC(), "the loop sleeps no longer than to the next slot")
		require.Zero(t, db.pass(t, a).Enqueued)
		require.Zero(t, db.pass(t, b).Enqueued)
		require.Equal(t, []string{
			hour.Add(-2 * time.Hour).UTC().Format(time.RFC3339), hour.Add(-time.Hour).UTC().Format(time.RFC3339), hour.UTC().Format(time.RFC3339),
		}, db.jobs(t, "hourly"))
		require.Equal(t, []string{"catch_up", "catch_up", "catch_up"}, db.strings(t, `SELECT metadata->>'source' FROM river_job`))
	})

	t.Run("ClaimedSlotsAreDone", func(t *testing.T) {
		t.Parallel()
		db := newTown(t)
		c := db.replica(t, entry(t, "hourly", periodic.Definition{Cron: "@hourly"}))
		now, err := periodic.Now(t.Context(), db)
		require.NoError(t, err)
		hour := now.Truncate(time.Hour).UTC()
		key := func(hours int) string { return hour.Add(time.Duration(-hours) * time.Hour).Format(time.RFC3339) }
		db.lastRan(t, hour.Add(-4*time.Hour))
		db.exec(t, `INSERT INTO worker_runs (name, key, slot_at) VALUES ('hourly', $1, $2)`, key(3), hour.Add(-3*time.Hour))
		db.exec(t, `INSERT INTO worker_runs (name, key) VALUES ('hourly', $1)`, key(1)) // by plain SQL
		require.Equal(t, 2, db.pass(t, c).Enqueued)
		require.Equal(t, []string{key(2), key(0)}, db.jobs(t, "hourly"))
	})

	t.Run("ALaterFinderMeetsTheTimersJob", func(t *testing.T) {
		t.Parallel()
		db := newTown(t)
		c := db.replica(t, entry(t, "hourly", periodic.Definition{Cron: "@hourly"}))
		now, err := periodic.Now(t.Context(), db)
		require.NoError(t, err)
		slot := c.Entries[0].Schedule.At(now.Truncate(time.Hour))
		_, err = c.Client.Insert(t.Context(), c.Entries[0].Args(slot), periodic.InsertOpts())
		require.NoError(t, err)
		db.lastRan(t, slot.At.Add(-time.Minute))
		require.Zero(t, db.pass(t, c).Enqueued)
		require.Equal(t, []string{slot.Key}, db.jobs(t, "hourly"))
	})

	t.Run("AFailedPassMovesNothing", func(t *testing.T) { // hazard 3: one failed insert must not lose its slot
		t.Parallel()
		db := newTown(t)
		c := db.replica(t, entry(t, "hourly", periodic.Definition{Cron: "@hourly"}), entry(t, "other", periodic.Definition{Cron: "@hourly"}))
		db.exec(t, `ALTER TABLE river_job ADD CONSTRAINT broken CHECK (kind <> 'hourly')`)
		db.exec(t, `UPDATE worker_schedules SET next_slot = now(), enqueued_through = now() - interval '2 hours'`)
		pass, err := c.RunOnce(t.Context())
		require.ErrorContains(t, err, `catch up "hourly": enqueue: `)
		require.Equal(t, 1, pass.Failed)
		require.NotEmpty(t, db.jobs(t, "other"), "one schedule's trouble is its own")
		db.exec(t, `ALTER TABLE river_job DROP CONSTRAINT broken`)
		require.Equal(t, 2, db.pass(t, c).Enqueued)
	})

	t.Run("AForgottenSlotDoesNotStopTheMarkForEver", func(t *testing.T) {
		t.Parallel()
		db := newTown(t)
		c := db.replica(t, entry(t, "daily", periodic.Definition{Cron: "@daily"}))
		now, err := periodic.Now(t.Context(), db)
		require.NoError(t, err)
		// Enqueued long ago, and their jobs deleted by an operator.
		db.exec(t, `UPDATE worker_schedules SET resolved_through = now() - interval '20 days'`)
		db.pass(t, c)
		hopeless := now.UTC().AddDate(0, 0, -8) // seven days late, and a day of trying
		first, last := now.UTC().AddDate(0, 0, -19).Truncate(24*time.Hour), hopeless.Truncate(24*time.Hour)
		require.Equal(t, []string{fmt.Sprintf("skipped_late %d %s %s", int(last.Sub(first).Hours()/24)+1,
			first.Format("2006-01-02T15:04"), last.Format("2006-01-02T15:04"))}, db.skips(t, "daily"))
		require.Equal(t, []string{last.Format("2006-01-02")}, db.strings(t, `SELECT to_char(resolved_through AT TIME ZONE 'UTC', 'YYYY-MM-DD') FROM worker_schedules`))
		require.Empty(t, db.jobs(t, "daily"), "what an operator deleted stays deleted")
	})

	t.Run("ResolvedThroughStopsAtTheFirstOpenSlot", func(t *testing.T) {
		t.Parallel()
		db := newTown(t)
		c := db.replica(t, entry(t, "hourly", periodic.Definition{Cron: "@hourly"}))
		now, err := periodic.Now(t.Context(), db)
		require.NoError(t, err)
		hour := now.Truncate(time.Hour).UTC()
		db.lastRan(t, hour.Add(-3*time.Hour))
		db.pass(t, c)
		resolved := func() (at time.Time) {
			require.NoError(t, db.QueryRow(t.Context(), `SELECT resolved_through FROM worker_schedules`).Scan(&at))
			return at.UTC()
		}
		require.Equal(t, hour.Add(-3*time.Hour), resolved())
		run := func(at time.Time) {
			db.exec(t, `INSERT INTO worker_runs (name, key, slot_at) VALUES ('hourly', $1, $2)`, at.Format(time.RFC3339), at)
			db.pass(t, c)
		}
		run(hour.Add(-time.Hour)) // out of order
		require.Equal(t, hour.Add(-3*time.Hour), resolved())
		run(hour.Add(-2 * time.Hour))
		require.Equal(t, hour.Add(-time.Hour), resolved())
		run(hour)
		require.True(t, resolved().After(hour))
	})
}

// TestManyReplicasCatchUpAtOnce: whoever comes first has the schedule.
func TestManyReplicasCatchUpAtOnce(t *testing.T) {
	t.Parallel()
	db := newTown(t)
	var entries []periodic.Entry
	for n := range 20 {
		entries = append(entries, entry(t, fmt.Sprintf("s%02d", n), periodic.Definition{Cron: "@hourly"}))
	}
	replicas := []*periodic.CatchUp{db.replica(t, entries...), db.replica(t, entries...), db.replica(t, entries...)}
	db.exec(t, `UPDATE worker_schedules SET next_slot = now(), enqueued_through = date_trunc('hour', now()) - interval '3 hours'`)
	enqueued := make(chan int, len(replicas))
	for _, c := range replicas {
		go func() {
			total := 0
			for range 3 {
				pass, err := c.RunOnce(context.WithoutCancel(t.Context()))
				if err != nil {
					total = -1000
				}
				total += pass.Enqueued
			}
			enqueued <- total
		}()
	}
	total := 0
	for range replicas {
		total += <-enqueued
	}
	require.Equal(t, 60, total)
	require.Len(t, db.strings(t, `SELECT kind FROM river_job`), 60)
}
