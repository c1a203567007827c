package workers_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

// store makes the probe's schedule known to the database, with a change.
func store(t *testing.T, db *pgxpool.Pool, change string) {
	t.Helper()
	write(t, db, `INSERT INTO worker_schedules (name, cron, zone, key_format, gap, fold, max_lateness)
		VALUES ('probe', '*/15 * * * *', 'UTC', 'instant', 'skip', 'both', '100 years')`)
	write(t, db, `UPDATE worker_schedules SET `+change)
}

// insertFrom is insert with a mark that says what asked for the job.
func (r replica) insertFrom(t *testing.T, at time.Time, source claim.Source) {
	t.Helper()
	options := periodic.InsertOpts()
	options.Metadata = []byte(`{"source":"` + source + `"}`)
	_, err := r.Insert(t.Context(), workers.Args[probe]{Key: at.UTC().Format(time.RFC3339), Slot: at}, options)
	require.NoError(t, err)
}

// requireOutcome checks how a slot was recorded, and that its job is done.
func requireOutcome(t *testing.T, db *pgxpool.Pool, a replica, want string, effects int64) {
	t.Helper()
	require.NoError(t, a.attempt(t))
	job := a.settled(t)
	require.Equal(t, rivertype.JobStateCompleted, job.State)
	record, err := claim.Find(t.Context(), db, claim.Key{Name: "probe", Key: fridayKey})
	require.NoError(t, err)
	require.Equal(t, want, record.Outcome)
	require.Equal(t, effects, *record.Effects)
	require.Equal(t, job.ID, *record.JobID)
	requireTotals(t, db, int(effects), 1)
}

// A timer may name a slot that the schedule does not have. It must not run, not
// even on a replica that never knew another definition.
func TestSuperseded(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		changedAt, slot, outcome string
	}{
		"ByAnOlderDefinition":         {"'2025-01-01'", "2025-05-31T00:05:00Z", "skipped_superseded"},
		"ByAClockThatIsBehind":        {"now()", fridayKey, "skipped_superseded"},
		"EnqueuedBeforeTheChangeRuns": {"now(), jobs_before = 1", fridayKey, "ran"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newEffects(t)
			store(t, db, `definition_changed_at = `+c.changedAt)
			a := start(t, db, onQuarters(probe{}))
			at, err := time.Parse(time.RFC3339, c.slot)
			require.NoError(t, err)
			options := periodic.InsertOpts()
			options.Metadata = []byte(`{"periodic": true}`)
			_, err = a.Insert(t.Context(), workers.Args[probe]{Key: c.slot, Slot: at}, options)
			require.NoError(t, err)
			write(t, db, `UPDATE river_job SET created_at = '2020-01-01'`) // by the clock of who inserted it
			require.NoError(t, a.attempt(t))
			a.settled(t)
			require.Equal(t, []string{c.outcome}, texts(t, db, `SELECT outcome FROM worker_runs`))
		})
	}
}

func TestPaused(t *testing.T) {
	t.Parallel()
	for source, want := range map[claim.Source]struct {
		outcome string
		effects int64
	}{
		claim.External: {"skipped_paused", 0},
		claim.CatchUp:  {"skipped_paused", 0},
		claim.Backfill: {"ran", 1},
	} {
		t.Run(string(source), func(t *testing.T) {
			t.Parallel()
			db := newEffects(t)
			store(t, db, `paused_at = now()`)
			a := start(t, db, onQuarters(probe{}))
			a.insertFrom(t, friday, source)
			requireOutcome(t, db, a, want.outcome, want.effects)
		})
	}

	t.Run("ByHandItRuns", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		store(t, db, `paused_at = now()`)
		result, err := byHand(t, db, onQuarters(probe{}))(workers.Request{Slot: friday})
		require.NoError(t, err)
		require.Equal(t, claim.Ran, result.Outcome)
	})
}

// What was skipped can still be run, by whoever wants it.
func TestSkippedSlotRunsByHand(t *testing.T) {
	t.Parallel()
	db := newEffects(t)
	a := start(t, db, onQuartersWith(probe{}, periodic.Policy{MaxLateness: time.Hour}))
	a.insert(t, friday)
	requireOutcome(t, db, a, "skipped_late", 0)

	button := byHand(t, db, onQuarters(probe{}))
	dry, err := button(workers.Request{Slot: friday, DryRun: true})
	require.NoError(t, err)
	require.Nil(t, dry.Run, "it has not run")
	result, err := button(workers.Request{Slot: friday, Force: true})
	require.NoError(t, err)
	require.Equal(t, claim.Ran, result.Outcome)
	require.Equal(t, fridayKey, result.ClaimKey)
	requireTotals(t, db, 1, 1)
}

func TestTooLate(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		source  claim.Source
		policy  periodic.Policy
		stored  string
		outcome string
		effects int64
	}{
		"ByTheCode":             {claim.External, periodic.Policy{MaxLateness: time.Hour}, "", "skipped_late", 0},
		"ByTheStoredDefinition": {claim.External, periodic.Policy{}, `max_lateness = '1 hour'`, "skipped_late", 0},
		"NotByIt":               {claim.External, periodic.Policy{MaxLateness: time.Hour}, `max_lateness = '99 years'`, "ran", 1},
		"ForCatchUp":            {claim.CatchUp, periodic.Policy{MaxLateness: time.Hour}, "", "skipped_late", 0},
		"NotForABackfill":       {claim.Backfill, periodic.Policy{MaxLateness: time.Hour}, "", "ran", 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newEffects(t)
			if c.stored != "" {
				store(t, db, c.stored)
			}
			a := start(t, db, onQuartersWith(probe{}, c.policy))
			a.insertFrom(t, friday, c.source)
			requireOutcome(t, db, a, c.outcome, c.effects)
			want := c.source
			require.Equal(t, []string{string(want)}, texts(t, db, `SELECT source FROM worker_runs`))
		})
	}
}

func TestMinEffects(t *testing.T) {
	t.Parallel()

	t.Run("FewerFail", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, onQuartersWith(probe{}, periodic.Policy{MinEffects: 3}))
		a.insert(t, friday)
		require.EqualError(t, a.attempt(t), "claim probe@"+fridayKey+": wrote 1 rows, at least 3 are expected")
		require.Equal(t, rivertype.JobStateRetryable, a.settled(t).State)
		requireTotals(t, db, 0, 0)
		_, err := byHand(t, db, onQuartersWith(probe{}, periodic.Policy{MinEffects: 3}))(workers.Request{Slot: friday})
		require.ErrorContains(t, err, "wrote 1 rows, at least 3 are expected")
	})

	t.Run("EnoughRun", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, onQuartersWith(probe{exec(`INSERT INTO effects VALUES ('a'), ('b')`)}, periodic.Policy{MinEffects: 3}))
		a.insert(t, friday)
		require.NoError(t, a.attempt(t))
		requireTotals(t, db, 3, 1)
	})
}
