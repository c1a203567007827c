package workers_test

import (
	"context"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

// byHand returns what asks for slots of the one schedule of an entry.
func byHand(t *testing.T, db *pgxpool.Pool, entry workers.Entry) func(workers.Request) (workers.Result, error) {
	t.Helper()
	registry := newRegistry(t, entry)
	scheduled, err := registry.Find(registry.Schedules()[0].Name)
	require.NoError(t, err)
	return func(request workers.Request) (workers.Result, error) {
		request.Source = claim.Manual
		return newRunner(db).RunByHand(t.Context(), db, scheduled, request)
	}
}

// The probe's slots by hand are Fridays at 18:00 in Mexico City.
func onFridays(worker probe) workers.Entry {
	return workers.On(worker, periodic.Definition{Cron: "0 18 * * FRI", Zone: "America/Mexico_City", Key: periodic.ISOWeek})
}

func TestRunByHand(t *testing.T) {
	t.Parallel()

	t.Run("K7WithoutASlotItIsTheLatestDueOne", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		now, err := periodic.Now(t.Context(), db)
		require.NoError(t, err)
		latest, ok := newRegistry(t, onFridays(probe{})).Schedules()[0].Latest(now)
		require.True(t, ok)
		result, err := byHand(t, db, onFridays(probe{}))(workers.Request{})
		require.NoError(t, err)
		require.Equal(t, latest.At, result.Slot)
		require.Equal(t, latest.Key, result.Key)
		require.False(t, result.Slot.After(now))
		require.Equal(t, claim.Ran, result.Outcome)
		require.Equal(t, []string{latest.Key}, texts(t, db, `SELECT key FROM worker_runs`))
		require.Equal(t, []string{latest.Key}, texts(t, db, `SELECT key FROM effects`))
	})

	t.Run("ByInstantAndByKeyItIsTheSameSlot", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		mexicoCity := time.FixedZone("CST", -6*60*60)
		first, err := byHand(t, db, onFridays(probe{}))(workers.Request{Slot: friday.In(mexicoCity)})
		require.NoError(t, err)
		require.Equal(t, claim.Ran, first.Outcome)
		require.Equal(t, "2025-W22", first.Key)
		require.Equal(t, "2025-W22", first.ClaimKey)
		require.Equal(t, friday, first.Run.Slot.UTC())
		require.Equal(t, claim.Manual, first.Run.Source)
		require.Equal(t, "a-1", *first.Run.Replica)
		require.EqualValues(t, 1, *first.Run.Effects)
		require.Nil(t, first.Run.JobID)
		require.Nil(t, first.Run.Attempt)

		// The second says by what and when, and does nothing.
		second, err := byHand(t, db, onFridays(probe{}))(workers.Request{Key: "2025-W22"})
		require.NoError(t, err)
		require.Equal(t, claim.Duplicate, second.Outcome)
		require.Equal(t, first.Run, second.Run)
		requireTotals(t, db, 1, 1)
	})

	t.Run("K7DryRunWritesNothing", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		want := workers.Result{Name: "probe", Slot: friday, Key: "2025-W22", ClaimKey: "2025-W22"}
		dry, err := byHand(t, db, onFridays(probe{}))(workers.Request{Slot: friday, DryRun: true})
		require.NoError(t, err)
		require.Equal(t, want, dry)
		requireTotals(t, db, 0, 0)

		ran, err := byHand(t, db, onFridays(probe{}))(workers.Request{Slot: friday})
		require.NoError(t, err)
		require.Equal(t, claim.Ran, ran.Outcome)

		dry, err = byHand(t, db, onFridays(probe{}))(workers.Request{Slot: friday, DryRun: true})
		require.NoError(t, err)
		want.Run, want.Outcome = ran.Run, claim.Duplicate
		require.Equal(t, want, dry)
		requireTotals(t, db, 1, 1)
	})

	t.Run("AFailureFreesTheSlot", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		failing := probe{func(context.Context, pgx.Tx, periodic.Slot) error { return context.DeadlineExceeded }}
		_, err := byHand(t, db, onFridays(failing))(workers.Request{Slot: friday})
		require.EqualError(t, err, "claim probe@2025-W22: context deadline exceeded")
		requireTotals(t, db, 0, 0)
		result, err := byHand(t, db, onFridays(probe{}))(workers.Request{Slot: friday})
		require.NoError(t, err)
		require.Equal(t, claim.Ran, result.Outcome)
	})
}

func TestRunByHandRefuses(t *testing.T) {
	t.Parallel()
	db := newEffects(t)
	now, err := periodic.Now(t.Context(), db)
	require.NoError(t, err)
	schedule := newRegistry(t, onFridays(probe{})).Schedules()[0]
	coming := schedule.At(schedule.Next(now))

	for name, c := range map[string]struct {
		request workers.Request
		want    []string
	}{
		"AnInstantBetweenSlotsAndNamesBoth": {
			workers.Request{Slot: time.Date(2025, time.May, 28, 16, 0, 0, 0, time.UTC)},
			[]string{`no such slot: 2025-05-28T16:00:00Z is not a slot of "probe": the one before is 2025-05-24T00:00:00Z, the one after 2025-05-31T00:00:00Z`},
		},
		"ASlotByOneSecond": {
			workers.Request{Slot: friday.Add(time.Second)},
			[]string{`the one before is 2025-05-31T00:00:00Z, the one after 2025-06-07T00:00:00Z`},
		},
		"AKeyOfAnotherFormat": {
			workers.Request{Key: "2025-05-30"},
			[]string{`no such slot: schedule "probe": key "2025-05-30": write it like "2026-W22"`},
		},
		"K7AComingSlot":      {workers.Request{Slot: coming.At}, []string{"no such slot: probe@" + coming.Key + " is due at ", "a coming slot is never run early"}},
		"K7AComingKey":       {workers.Request{Key: coming.Key}, []string{"no such slot: probe@" + coming.Key + " is due at ", "a coming slot is never run early"}},
		"AComingSlotByForce": {workers.Request{Key: coming.Key, Force: true}, []string{"a coming slot is never run early"}},
		"AComingSlotDry":     {workers.Request{Key: coming.Key, DryRun: true}, []string{"a coming slot is never run early"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			_, err := byHand(t, db, onFridays(probe{}))(c.request)
			require.ErrorIs(t, err, workers.ErrBadSlot)
			for _, want := range c.want {
				require.ErrorContains(t, err, want)
			}
			requireTotals(t, db, 0, 0)
		})
	}
}
