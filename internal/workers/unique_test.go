package workers_test

import (
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

func TestOneJobPerSlot(t *testing.T) {
	t.Parallel()

	// River's default states would let a catch-up resurrect what an operator
	// cancelled, or what used up its attempts.
	for _, state := range rivertype.JobStates() {
		t.Run("WhenTheFirstIs_"+string(state), func(t *testing.T) {
			t.Parallel()
			db := newEffects(t)
			client, err := river.NewClient(riverpgxv5.New(db), &river.Config{})
			require.NoError(t, err)
			a := replica{Client: client}
			require.False(t, a.insert(t, friday).UniqueSkippedAsDuplicate)
			write(t, db, `UPDATE river_job SET state = $1::text::river_job_state,
				finalized_at = CASE WHEN $1 IN ('cancelled', 'completed', 'discarded') THEN now() END`, string(state))
			require.True(t, a.insert(t, friday).UniqueSkippedAsDuplicate)
			require.Equal(t, 1, count(t, db, `SELECT count(*) FROM river_job`))
		})
	}

	t.Run("InWhateverZoneItsInstantIsWritten", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, onQuarters(probe{}))
		mexicoCity, err := time.LoadLocation("America/Mexico_City")
		require.NoError(t, err)
		require.False(t, a.insert(t, friday.In(mexicoCity)).UniqueSkippedAsDuplicate)
		require.True(t, a.insert(t, friday).UniqueSkippedAsDuplicate)
		require.Equal(t, []string{"2025-05-30T18:00:00-06:00"}, texts(t, db, `SELECT args->>'slot' FROM river_job`))
		require.NoError(t, a.attempt(t))
		require.Equal(t, []string{fridayKey}, texts(t, db, `SELECT key FROM effects`))
	})

	// River's own periods are cut in UTC: Monday 00:05 in Kolkata is in last
	// week's. The slot's identity is its key, whenever the job is to start.
	t.Run("F1WhenTheJobIsScheduledDoesNotMatter", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		client, err := river.NewClient(riverpgxv5.New(db), &river.Config{})
		require.NoError(t, err)
		for _, at := range []string{"2027-01-03T18:35:00Z", "2027-01-04T03:30:00Z"} {
			options := periodic.InsertOpts()
			options.ScheduledAt, err = time.Parse(time.RFC3339, at)
			require.NoError(t, err)
			_, err = client.Insert(t.Context(), workers.Args[probe]{Key: "2027-W01", Slot: friday}, options)
			require.NoError(t, err)
		}
		require.Equal(t, 1, count(t, db, `SELECT count(*) FROM river_job`))
	})

	t.Run("ButOneForEachWorkerAndKey", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		client, err := river.NewClient(riverpgxv5.New(db), &river.Config{})
		require.NoError(t, err)
		results, err := client.InsertMany(t.Context(), []river.InsertManyParams{
			{Args: workers.Args[probe]{Key: "2025-W22", Slot: friday}, InsertOpts: periodic.InsertOpts()},
			{Args: workers.Args[probe]{Key: "2025-W23", Slot: friday}, InsertOpts: periodic.InsertOpts()},
			{Args: workers.Args[workers.WeeklyDigest]{Key: "2025-W22", Slot: friday}, InsertOpts: periodic.InsertOpts()},
		})
		require.NoError(t, err)
		for _, result := range results {
			require.False(t, result.UniqueSkippedAsDuplicate)
		}
		require.Equal(t, []string{"probe", "probe", "weekly_digest"}, texts(t, db, `SELECT kind FROM river_job ORDER BY kind`))
	})
}
