package workers_test

import (
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

// keep stores a schedule with a statement, which owes its slots for a year.
func keep(t *testing.T, db *pgxpool.Pool, name, sql, change string) {
	t.Helper()
	_, err := db.Exec(t.Context(), `INSERT INTO worker_schedules (name, cron, zone, max_lateness, sql_statement) VALUES ($1, '@every 15m', 'UTC', '10 years', $2)`, name, sql)
	require.NoError(t, err)
	write(t, db, `UPDATE worker_schedules SET known_since = '2020-01-01', adopted_at = now()`)
	if change != "" {
		write(t, db, `UPDATE worker_schedules SET `+change)
	}
}

// insertStored enqueues friday's slot of a stored schedule.
func (r replica) insertStored(t *testing.T, name string, source claim.Source) *rivertype.JobInsertResult {
	t.Helper()
	options := periodic.InsertOpts()
	options.Metadata = fmt.Appendf(nil, `{"source": %q}`, source)
	result, err := r.Insert(t.Context(), periodic.StoredJob(periodic.Slot{Name: name, Key: fridayKey, At: friday}), options)
	require.NoError(t, err)
	return result
}

const insertEffect = `INSERT INTO effects (key) SELECT $key || n FROM generate_series(1, 3) n`

func TestStored(t *testing.T) {
	t.Parallel()

	t.Run("ClaimEffectsAndCompletionAreOneTransaction", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db)
		keep(t, db, "s", insertEffect, "")
		a.insertStored(t, "s", claim.CatchUp)
		require.NoError(t, a.attempt(t))
		require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
		require.Equal(t, 3, count(t, db, `SELECT count(*) FROM effects e, river_job j, worker_runs r WHERE e.xmin = j.xmin AND j.xmin = r.xmin AND effects = 3`))
		require.True(t, a.insertStored(t, "s", claim.Backfill).UniqueSkippedAsDuplicate, "one job for a slot, in every state")
	})

	t.Run("OneKindCarriesAllOfThem", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db)
		for _, name := range []string{"s1", "s2"} {
			keep(t, db, name, insertEffect, "")
			a.insertStored(t, name, claim.CatchUp)
			require.NoError(t, a.attempt(t))
		}
		requireTotals(t, db, 6, 2)
	})

	for name, c := range map[string]struct {
		sql, change string
		source      claim.Source
		want        string
	}{
		"RemovedIsSuperseded":         {"", "", claim.CatchUp, "skipped_superseded"},
		"AddedAnewIsSuperseded":       {insertEffect, `known_since = now()`, claim.CatchUp, "skipped_superseded"},
		"AddedAnewCanBeFilled":        {insertEffect, `known_since = now()`, claim.Backfill, "ran"},
		"PausedIsSkipped":             {insertEffect, `paused_at = now()`, claim.CatchUp, "skipped_paused"},
		"TooLateIsSkipped":            {insertEffect, `max_lateness = '1 hour'`, claim.CatchUp, "skipped_late"},
		"AnybodysJobOfASlotIsCarried": {insertEffect, "", claim.External, "ran"},
		"OverlapIsATurnOfItsOwn":      {insertEffect, `overlap = 'wait'`, claim.CatchUp, "ran"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newEffects(t)
			a := start(t, db)
			if c.sql != "" {
				keep(t, db, "s", c.sql, c.change)
			}
			a.insertStored(t, "s", c.source)
			require.NoError(t, a.attempt(t))
			require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
			record, err := claim.Find(t.Context(), db, claim.Key{Name: "s", Key: fridayKey})
			require.NoError(t, err)
			require.Equal(t, c.want, record.Outcome)
		})
	}

	t.Run("AnOlderSlotOfItsOwnIsWaitedForAndNobodyElses", func(t *testing.T) {
		t.Parallel()
		for older, outcome := range map[string]int{"s": 0, "other": 1} {
			db := newEffects(t)
			a := start(t, db)
			keep(t, db, "s", insertEffect, `overlap = 'wait'`)
			options := periodic.InsertOpts()
			options.ScheduledAt = time.Now().Add(time.Hour)
			at := friday.Add(-15 * time.Minute)
			_, err := a.Insert(t.Context(), periodic.StoredJob(periodic.Slot{Name: older, Key: at.Format(time.RFC3339), At: at}), options)
			require.NoError(t, err)
			a.insertStored(t, "s", claim.CatchUp)
			if err := a.attempt(t); outcome == 0 {
				requireSnooze(t, err)
			} else {
				require.NoError(t, err)
			}
			requireTotals(t, db, 3*outcome, outcome)
		}
	})

	for name, c := range map[string]struct{ sql, change, want string }{
		"FailsAndKeepsNothing":         {`INSERT INTO effects (key) SELECT (1 / (n - 3))::text FROM generate_series(1, 3) n`, "", "division by zero"},
		"TooFewEffectsFail":            {insertEffect, `min_effects = 4`, "wrote 3 rows, at least 4 are expected"},
		"ItsTimeoutEndsIt":             {`INSERT INTO effects SELECT 'x' FROM pg_sleep(20)`, `timeout = '1 second'`, "claim s@" + fridayKey},
		"ACommitIsTheClaims":           {`COMMIT`, "", "the transaction belongs to its claim"},
		"ACopyHasNoClient":             {`/* x */ COPY effects FROM STDIN`, "", "sql: COPY needs a client at the other end: use INSERT … SELECT"},
		"AFunctionCannotCommitEither":  {`DO 'BEGIN COMMIT; END'`, "", "invalid transaction termination"},
		"TheStatementsOwnTimeoutIsSet": {`INSERT INTO effects SELECT (1 / (current_setting('statement_timeout')::interval <> '7 s')::int)::text`, `timeout = '7 seconds'`, "division by zero"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newEffects(t)
			a := start(t, db)
			keep(t, db, "s", c.sql, c.change)
			a.insertStored(t, "s", claim.CatchUp)
			require.ErrorContains(t, a.attempt(t), c.want)
			require.Equal(t, rivertype.JobStateRetryable, a.settled(t).State)
			requireTotals(t, db, 0, 0)
		})
	}

	t.Run("NobodysJobForNoSlotRuns", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db)
		keep(t, db, "s", insertEffect, "")
		for _, args := range []periodic.StoredArgs{
			{Name: "s", Key: fridayKey, Slot: friday.Add(time.Minute)},
			{Name: "s", Key: "x", Slot: friday},
			{Name: "nothing", Key: fridayKey, Slot: friday},
			{},
		} {
			_, err := a.Insert(t.Context(), args, periodic.InsertOpts())
			require.NoError(t, err)
			require.Error(t, a.attempt(t))
			require.Equal(t, rivertype.JobStateCancelled, a.settled(t).State)
		}
		requireTotals(t, db, 0, 0)
	})

	t.Run("ATaskIsEnqueuedOnceForASlotHoweverOftenItIsForced", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, workers.OnDemand(errand{}))
		write(t, db, `INSERT INTO worker_schedules (name, cron, zone, enqueue_kind, enqueue_args) VALUES ('s', '@every 15m', 'UTC', 'errand', '{"effect": "e"}')`)
		registry := newRegistry(t)
		scheduled, err := registry.Lookup(t.Context(), db, "s")
		require.NoError(t, err)
		for range 3 {
			_, err := newRunner(db).RunByHand(t.Context(), db, scheduled, workers.Request{Key: fridayKey, Force: true, Source: claim.Manual})
			require.NoError(t, err)
		}
		require.NoError(t, a.attempt(t))
		require.Equal(t, 1, count(t, db, `SELECT count(*) FROM river_job WHERE kind = 'errand'`))
		require.Equal(t, 1, count(t, db, `SELECT count(*) FROM worker_runs WHERE name = 'errand' AND key = 's/`+fridayKey+`'`))
		require.Equal(t, 3, count(t, db, `SELECT count(*) FROM worker_runs WHERE name = 's'`))
	})

	t.Run("NoTaskComesWithItsName", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		keep(t, db, "errand", insertEffect, "")
		err := newRegistry(t, workers.OnDemand(errand{})).RegisterKinds(t.Context(), db, "ranura")
		require.ErrorIs(t, err, periodic.ErrNameStored)
		require.EqualError(t, err, `register kinds: worker "errand": a stored schedule has this name: remove that (app schedules rm), or name the worker otherwise`)
	})
}
