package workers_test

import (
	"context"
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ranura/ranura/internal/workers"
)

const enqueueSQL = `SELECT enqueue_job('errand', jsonb_build_object('effect', $1::text), $2)`

// F3: Go and SQL call one function, so that a key means the same to both.
func TestF3OneKeyFromGoAndSQLRunsOnce(t *testing.T) {
	t.Parallel()

	t.Run("WhateverTheKeyAndTheArguments", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, workers.OnDemand(errand{}))
		odd := "🎉 <b>\"O'Brien\" \\ \\u0000 & \u2028 \u00e9 e\u0301"
		write(t, db, enqueueSQL, odd, odd)
		require.NoError(t, a.attempt(t))
		id := enqueue(t, db, errand{Effect: odd}, odd)
		require.Equal(t, 1, count(t, db, `SELECT count(*) FROM river_job`))
		require.Equal(t, []string{odd}, texts(t, db, `SELECT key FROM effects`), "the text arrives as it is")
		require.Equal(t, []string{odd}, texts(t, db, `SELECT key FROM worker_runs`))

		write(t, db, `DELETE FROM river_job`) // as River does a day later
		require.Equal(t, id, enqueue(t, db, errand{Effect: odd}, odd))
		write(t, db, enqueueSQL, odd, odd)
		require.Zero(t, count(t, db, `SELECT count(*) FROM river_job`), "its claim stands")
	})

	t.Run("AHundredTimesEachAtOnce", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		a := start(t, db, workers.OnDemand(errand{}))
		var callers errgroup.Group
		for range 100 {
			callers.Go(func() error {
				_, err := db.Exec(t.Context(), enqueueSQL, "e", "k")
				return err
			})
			callers.Go(func() error {
				return pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
					_, err := workers.Enqueue(t.Context(), tx, errand{Effect: "e"}, workers.EnqueueOpts{DedupeKey: "k"})
					return err
				})
			})
		}
		require.NoError(t, callers.Wait())
		require.NoError(t, a.attempt(t))
		require.Equal(t, 1, count(t, db, `SELECT count(*) FROM river_job`))
		requireTotals(t, db, 1, 1)
	})
}

// C8: the slot that Go names is one run, whoever brings it.
func TestC8OneSlotFromGoAndSQLRunsOnce(t *testing.T) {
	t.Parallel()
	db := newEffects(t)
	a := start(t, db, onQuarters(probe{}))
	const slot = `{"key": "` + fridayKey + `", "slot": "` + fridayKey + `"}`
	write(t, db, `SELECT enqueue_job('probe', '{"key": "`+fridayKey+`", "slot": "2025-05-31T00:15:00Z"}')`) // a wrong pair
	require.ErrorContains(t, a.attempt(t), "do not belong together")
	write(t, db, `SELECT enqueue_job('probe', $1), enqueue_job('probe', $1)`, slot)
	require.NoError(t, a.attempt(t))
	require.False(t, a.insert(t, friday).UniqueSkippedAsDuplicate, "the timer's job is not kept out")
	require.NoError(t, a.attempt(t))
	require.Equal(t, 3, count(t, db, `SELECT count(*) FROM river_job`))
	requireTotals(t, db, 1, 1)
}

// J1: a job is there when what it is about is there, and never without it.
func TestEnqueueIsPartOfTheTransaction(t *testing.T) {
	t.Parallel()
	db := newEffects(t)
	a := start(t, db, workers.OnDemand(errand{}))
	errNo := errors.New("no")
	enqueueIn := func(tx pgx.Tx, effect string) {
		_, err := workers.Enqueue(t.Context(), tx, errand{Effect: effect}, workers.EnqueueOpts{DedupeKey: effect})
		require.NoError(t, err)
	}

	require.ErrorIs(t, pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
		enqueueIn(tx, "rolled back")
		return errNo
	}), errNo)
	require.NoError(t, pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
		require.ErrorIs(t, pgx.BeginFunc(t.Context(), tx, func(savepoint pgx.Tx) error {
			enqueueIn(savepoint, "to a savepoint")
			return errNo
		}), errNo)
		enqueueIn(tx, "committed")
		require.Zero(t, count(t, db, `SELECT count(*) FROM river_job`), "nobody sees it before the commit")
		return nil
	}))
	require.NoError(t, a.attempt(t))
	require.Equal(t, []string{"committed"}, texts(t, db, `SELECT key FROM effects`))
	require.Equal(t, 1, count(t, db, `SELECT count(*) FROM river_job`))
}

func TestEnqueueRefuses(t *testing.T) {
	t.Parallel()
	db := newEffects(t)
	require.NoError(t, newRegistry(t, workers.OnDemand(errand{})).RegisterKinds(t.Context(), db, "ranura"))
	for _, c := range []struct {
		task workers.Task
		key  string
		want string
	}{
		{errand{Effect: "a\x00b"}, "", `enqueue errand: args: a text has a NUL character: leave it out`}, // I4
		{errand{Effect: "a\xffb"}, "", `enqueue errand: args: a text is not UTF-8: convert it`},
		{errand{}, "a\x00b", `enqueue errand: dedupe key: a text has a NUL character: leave it out`},
		{errand{}, "a\xffb", `enqueue errand: dedupe key: a text is not UTF-8: convert it`},
		{errand{}, strings.Repeat("a", 201), `enqueue errand: ERROR: enqueue_job: dedupe_key must have 1 to 200 characters and not be blank, or be null (SQLSTATE 22023)`}, // I5
		{errand{Effect: strings.Repeat("🎉", 100_000)}, "", `enqueue errand: ERROR: enqueue_job: args must have at most 65536 bytes: enqueue a reference instead (SQLSTATE 22023)`},
		{errand{}, " ", `enqueue errand: ERROR: enqueue_job: dedupe_key must have 1 to 200 characters and not be blank, or be null (SQLSTATE 22023)`},
		{workers.Welcome{}, "", `enqueue welcome: ERROR: enqueue_job: kind "welcome" is not known: use the name of a worker that a replica has registered (SQLSTATE 22023)`},
	} {
		require.EqualError(t, pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
			_, err := workers.Enqueue(t.Context(), tx, c.task, workers.EnqueueOpts{DedupeKey: c.key})
			return err
		}), c.want)
	}
	id := enqueue(t, db, errand{Effect: `\u0000 \ufffd ` + "\ufffd"}, "") // their names are texts like others
	require.NotZero(t, id)
}

// A job from SQL is fetched when it commits, as Go's is, and not at the next
// poll.
func TestEnqueueWakesTheWorkers(t *testing.T) {
	t.Parallel()
	db := newEffects(t)
	a := startWith(t, db, river.Config{FetchPollInterval: time.Hour}, workers.OnDemand(errand{}))
	for _, commit := range []func(context.Context, *pgxpool.Pool) error{
		func(ctx context.Context, db *pgxpool.Pool) error {
			_, err := db.Exec(ctx, enqueueSQL, "e", "sql")
			return err
		},
		func(ctx context.Context, db *pgxpool.Pool) error {
			return pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error {
				_, err := workers.Enqueue(ctx, tx, errand{}, workers.EnqueueOpts{})
				return err
			})
		},
	} {
		require.NoError(t, commit(t.Context(), db))
		require.NoError(t, a.attempt(t), "within %s of an hour", patience)
	}
}
