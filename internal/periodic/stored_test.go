package periodic_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
)

// add stores a schedule, the shortest way.
func (db town) add(t *testing.T, name, cron string) {
	t.Helper()
	db.exec(t, `INSERT INTO worker_schedules (name, cron, zone, sql_statement) VALUES ($1, $2, 'UTC', 'SELECT 1')`, name, cron)
}

// storedJobs are the keys in the queue of one stored schedule.
func (db town) storedJobs(t *testing.T, name string) []string {
	t.Helper()
	return db.strings(t, `SELECT args->>'key' FROM river_job WHERE kind = 'stored_schedule' AND args->>'name' = $1 ORDER BY args->>'key'`, name)
}

func TestStored(t *testing.T) {
	t.Parallel()

	t.Run("OwesNothingFromBeforeItWasAdded", func(t *testing.T) {
		t.Parallel()
		db := newTown(t)
		c := db.replica(t)
		db.add(t, "minutely", "* * * * *")
		pass := db.pass(t, c)
		require.Equal(t, 1, pass.Stored)
		require.Empty(t, db.storedJobs(t, "minutely"))
		pass = db.pass(t, c)
		require.Zero(t, pass.Stored, "it is not due before its slot")
		require.WithinDuration(t, pass.Now.Truncate(time.Minute).Add(time.Minute), pass.NextStored, time.Minute)
	})

	t.Run("ManyAreEnqueuedInOneTransactionEachOnce", func(t *testing.T) {
		t.Parallel()
		db := newTown(t)
		c := db.replica(t)
		db.exec(t, `INSERT INTO worker_schedules (name, cron, zone, sql_statement) SELECT 'n' || n, '@every 50s', 'UTC', 'SELECT 1' FROM generate_series(1, 600) n`)
		require.GreaterOrEqual(t, db.pass(t, c).Stored, 600)
		db.exec(t, `DELETE FROM river_job`)
		db.exec(t, `UPDATE worker_schedules SET next_slot = slot, resolved_through = slot - interval '1 second', enqueued_through = slot - interval '1 second'
			FROM to_timestamp(50 * floor(extract(epoch FROM now()) / 50)) AS slot`)
		pass := db.pass(t, c)
		require.GreaterOrEqual(t, pass.Enqueued, 600, "or the next slot has come")
		require.Equal(t, []string{fmt.Sprint(pass.Enqueued)}, db.strings(t, `SELECT count(DISTINCT args)::text FROM river_job WHERE kind = 'stored_schedule'`))
		require.Equal(t, []string{"600"}, db.strings(t, `SELECT count(DISTINCT args->>'name')::text FROM river_job`))
		require.Less(t, db.strings(t, `SELECT count(DISTINCT xmin::text)::text FROM river_job WHERE kind = 'stored_schedule'`)[0], "4", "transactions")
	})
}

// TestStoredMarks: with one slot due, in time, the short way is taken; else the
// policy has the word. Both leave the same marks.
func TestStoredMarks(t *testing.T) {
	t.Parallel()
	const ran = `INSERT INTO worker_runs (name, key, slot_at) SELECT name, to_char((next_slot - interval '1 day') AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'),
		next_slot - interval '1 day' FROM worker_schedules`
	const twoDue = `UPDATE worker_schedules SET enqueued_through = resolved_through`
	for name, c := range map[string]struct {
		before   []string // to a daily schedule that has one slot due, and one that is a day old
		jobs     int      // of the slots
		skips    []string // without the instants
		resolved string   // from the due slot
	}{
		"the one before ran":     {[]string{ran}, 1, nil, "-01:00:00"},
		"the one before is open": {nil, 1, nil, "-1 days -01:00:00"},
		"two are due":            {[]string{twoDue}, 2, nil, "-1 days -01:00:00"},
		"only the latest":        {[]string{twoDue, `UPDATE worker_schedules SET catch_up = 'latest'`}, 1, []string{"skipped_superseded 1"}, "-1 days"},
		"it is paused":           {[]string{ran, `UPDATE worker_schedules SET paused_at = resolved_through`}, 0, []string{"skipped_paused 1"}, "now"},
		"it is late":             {[]string{ran, `UPDATE worker_schedules SET max_lateness = '1 millisecond'`}, 0, []string{"skipped_late 1"}, "now"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newTown(t)
			replica := db.replica(t)
			now, err := periodic.Now(t.Context(), db)
			require.NoError(t, err)
			slot := now.UTC().Truncate(time.Minute)
			db.add(t, "s", fmt.Sprintf("%d %d * * *", slot.Minute(), slot.Hour()))
			db.pass(t, replica)
			db.exec(t, `UPDATE worker_schedules SET next_slot = at, enqueued_through = at - interval '1 hour', resolved_through = at - interval '25 hours'
				FROM (SELECT $1::timestamptz AS at) AS slot`, slot)
			for _, sql := range c.before {
				db.exec(t, sql)
			}
			require.Equal(t, 1, db.pass(t, replica).Stored)
			jobs := db.storedJobs(t, "s")
			require.Len(t, jobs, c.jobs)
			if c.jobs > 0 {
				require.Equal(t, slot.Format(time.RFC3339), jobs[c.jobs-1])
			}
			var skips []string
			for _, skip := range db.skips(t, "s") {
				skips = append(skips, strings.Join(strings.Fields(skip)[:2], " "))
			}
			require.Equal(t, c.skips, skips)
			require.Equal(t, []string{"t " + c.resolved + " 1 day"}, db.strings(t, `
				SELECT format('%s %s %s', enqueued_through >= $1, CASE WHEN resolved_through = enqueued_through THEN 'now' ELSE (resolved_through - $1)::text END, next_slot - $1)
				FROM worker_schedules`, slot))
			require.Zero(t, db.pass(t, replica).Stored, "nothing is due any more")
		})
	}
}

func TestStoredChanges(t *testing.T) {
	t.Parallel()

	// due is a town with a schedule that has one slot due, which nobody has enqueued.
	due := func(t *testing.T) (town, *periodic.CatchUp) {
		t.Helper()
		db := newTown(t)
		c := db.replica(t)
		db.add(t, "s", "* * * * *")
		db.pass(t, c)
		db.exec(t, `UPDATE worker_schedules SET next_slot = at, enqueued_through = at - interval '30 seconds', resolved_through = at - interval '30 seconds'
			FROM date_trunc('minute', now()) AS at`)
		return db, c
	}

	t.Run("AChangedCronFiresNoOldSlotAndSaysSo", func(t *testing.T) {
		t.Parallel()
		db, c := due(t)
		db.exec(t, `UPDATE worker_schedules SET cron = '30 4 1 1 *' WHERE name = 's'`)
		require.Equal(t, 1, db.pass(t, c).Stored)
		require.Empty(t, db.storedJobs(t, "s"))
		require.Equal(t, []string{"skipped_superseded 1"}, db.strings(t, `SELECT outcome || ' ' || slots FROM slot_skips WHERE first_slot = date_trunc('minute', first_slot)`))
		require.Equal(t, []string{"01-01 04:30"}, db.strings(t, `SELECT to_char(next_slot AT TIME ZONE 'UTC', 'MM-DD HH24:MI') FROM worker_schedules`))
		require.Equal(t, []string{"true"}, db.strings(t, `SELECT (definition_changed_at > known_since)::text FROM worker_schedules`))
	})

	t.Run("AChangedStatementLosesNoSlot", func(t *testing.T) {
		t.Parallel()
		db, c := due(t)
		db.exec(t, `UPDATE worker_schedules SET sql_statement = 'SELECT 2', max_count = 7 WHERE name = 's'`)
		require.Equal(t, 1, db.pass(t, c).Stored)
		require.Len(t, db.storedJobs(t, "s"), 1)
		require.Empty(t, db.skips(t, "s"))
	})

	t.Run("WhatTheWriterSaysOfTheMarksCountsForNothing", func(t *testing.T) {
		t.Parallel()
		db := newTown(t)
		c := db.replica(t)
		db.exec(t, `INSERT INTO worker_schedules (name, cron, zone, sql_statement, known_since, enqueued_through, resolved_through, next_slot, adopted_at)
			VALUES ('s', '@every 1s', 'UTC', 'SELECT 1', '2000-01-01', '2000-01-01', '2000-01-01', '2000-01-01', now())`)
		require.Equal(t, []string{"true"}, db.strings(t, `SELECT (known_since = enqueued_through AND known_since = resolved_through AND known_since = next_slot
			AND known_since > now() - interval '1 minute' AND adopted_at IS NULL)::text FROM worker_schedules`))
		require.LessOrEqual(t, db.pass(t, c).Enqueued, 1)
		require.Empty(t, db.skips(t, "s"), "no flood")
	})

	t.Run("ARemovedOneIsDue", func(t *testing.T) {
		t.Parallel()
		db, c := due(t)
		db.exec(t, `DELETE FROM worker_schedules WHERE name = 's'`)
		require.Zero(t, db.pass(t, c).Stored)
		require.Empty(t, db.storedJobs(t, "s"))
	})
}

func TestStoredRefusals(t *testing.T) {
	t.Parallel()

	t.Run("ARefusedOneIsLookedAtOnceAndInNobodysWay", func(t *testing.T) {
		t.Parallel()
		db := newTown(t)
		c := db.replica(t)
		var log strings.Builder
		c.Log = slog.New(slog.NewTextHandler(&log, nil))
		db.add(t, "bad", "0 0 30 2 *")
		db.add(t, "good", "@every 1h")
		require.Equal(t, 2, db.pass(t, c).Stored)
		require.Equal(t, []string{"bad t f", "good f t"}, db.strings(t,
			`SELECT concat_ws(' ', name, coalesce(note ~ 'never fires', false), adopted_at IS NOT NULL) FROM worker_schedules ORDER BY name`))
		require.Zero(t, db.pass(t, c).Stored)
		require.Equal(t, 1, strings.Count(log.String(), "stored schedule refused"))
	})

	t.Run("WhatMayPassIsNoRefusal", func(t *testing.T) {
		t.Parallel()
		db := newTown(t)
		c := db.replica(t)
		locked := true
		c.Vet = func(context.Context, pgx.Tx, periodic.Action) (string, error) {
			if locked {
				return "", errors.New("the table is locked")
			}
			return "", nil
		}
		db.add(t, "s", "@daily")
		pass, err := c.RunOnce(t.Context())
		require.EqualError(t, err, `catch up "s": vet: the table is locked`)
		require.Equal(t, 1, pass.Failed)
		locked = false
		require.Equal(t, 1, db.pass(t, c).Stored)
		require.Equal(t, []string{"true"}, db.strings(t, `SELECT (note IS NULL AND adopted_at IS NOT NULL)::text FROM worker_schedules`))
	})

	t.Run("CodeThatComesWithItsNameDoesNotStart", func(t *testing.T) {
		t.Parallel()
		db := newTown(t)
		db.add(t, "digest", "@daily")
		now, err := periodic.Now(t.Context(), db)
		require.NoError(t, err)
		err = db.catchUp(t, now, entry(t, "digest", periodic.Definition{Cron: "@daily"})).Register(t.Context())
		require.ErrorIs(t, err, periodic.ErrNameStored)
		require.ErrorContains(t, err, `register schedule "digest": `)
	})
}
