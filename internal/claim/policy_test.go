package claim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ranura/ranura/internal/claim"
)

func skip(context.Context, pgx.Tx) error { return claim.Skip(claim.SkippedPaused) }

func TestSkip(t *testing.T) {
	t.Parallel()

	t.Run("IsTheClaimsOutcomeAndTheFinishingStepsAreTaken", func(t *testing.T) {
		t.Parallel()
		db := newDB(t)
		outcome, err := claim.Run(t.Context(), db, friday, meta, skip, pay)
		require.NoError(t, err)
		require.Equal(t, claim.SkippedPaused, outcome)
		require.Equal(t, 1, effects(t, db))

		record, err := claim.Find(t.Context(), db, friday)
		require.NoError(t, err)
		require.Equal(t, "skipped_paused", record.Outcome)
		require.EqualValues(t, 0, *record.Effects)
	})

	t.Run("ComesTooLateAfterTheFirstEffect", func(t *testing.T) {
		t.Parallel()
		db := newDB(t)
		_, err := claim.Run(t.Context(), db, friday, meta, func(ctx context.Context, tx pgx.Tx) error {
			return errors.Join(pay(ctx, tx), skip(ctx, tx))
		})
		require.EqualError(t, err, "claim payday@2026-W22: skipped_paused")
		require.Equal(t, 0, effects(t, db)+claims(t, db))
	})
}

func TestSkippedSlot(t *testing.T) {
	t.Parallel()
	skipped := func(t *testing.T) *pgxpool.Pool {
		t.Helper()
		db := newDB(t)
		_, err := claim.Run(t.Context(), db, friday, meta, skip)
		require.NoError(t, err)
		return db
	}
	outcome := func(t *testing.T, db *pgxpool.Pool) string {
		t.Helper()
		record, err := claim.Find(t.Context(), db, friday)
		require.NoError(t, err)
		return record.Outcome
	}
	by := func(source claim.Source) claim.Meta { return claim.Meta{SlotAt: slotAt, Source: source} }

	for _, source := range []claim.Source{claim.Schedule, claim.CatchUp, claim.External} {
		t.Run("StaysSkippedFor_"+string(source), func(t *testing.T) {
			t.Parallel()
			db := skipped(t)
			got, err := claim.Run(t.Context(), db, friday, by(source), pay)
			require.NoError(t, err)
			require.Equal(t, claim.Duplicate, got)
			require.Equal(t, "skipped_paused", outcome(t, db))
		})
	}
	for _, source := range []claim.Source{claim.Manual, claim.Backfill} {
		t.Run("RunsOnceFor_"+string(source), func(t *testing.T) {
			t.Parallel()
			db := skipped(t)
			outcomes := make(chan claim.Outcome, 4)
			var group errgroup.Group
			for range cap(outcomes) {
				group.Go(func() error {
					got, err := claim.Run(t.Context(), db, friday, by(source), pay)
					outcomes <- got
					return err
				})
			}
			require.NoError(t, group.Wait())
			seen := map[claim.Outcome]int{}
			for range cap(outcomes) {
				seen[<-outcomes]++
			}
			require.Equal(t, map[claim.Outcome]int{claim.Ran: 1, claim.Duplicate: 3}, seen)
			require.Equal(t, "ran", outcome(t, db))
			require.Equal(t, 1, effects(t, db))
		})
	}

	t.Run("StaysSkippedWhenTheRunFails", func(t *testing.T) {
		t.Parallel()
		db := skipped(t)
		_, err := claim.Run(t.Context(), db, friday, by(claim.Manual), func(context.Context, pgx.Tx) error { return errors.New("not today") })
		require.ErrorContains(t, err, "not today")
		require.Equal(t, "skipped_paused", outcome(t, db))
	})
}

func TestPatience(t *testing.T) {
	t.Parallel()

	t.Run("EndsWhileAPeerHoldsTheClaim", func(t *testing.T) {
		t.Parallel()
		db := newDB(t)
		peer, err := db.Begin(t.Context())
		require.NoError(t, err)
		defer func() { _ = peer.Rollback(t.Context()) }()
		_, err = claim.Take(t.Context(), peer, friday, meta)
		require.NoError(t, err)

		impatient := meta
		impatient.Patience = 50 * time.Millisecond
		_, err = claim.Run(t.Context(), db, friday, impatient, pay)
		require.ErrorIs(t, err, claim.ErrHeld)
		require.ErrorContains(t, err, "claim payday@2026-W22: take: another transaction holds the claim: ")
	})

	t.Run("IsForTheClaimAlone", func(t *testing.T) {
		t.Parallel()
		config := newDB(t).Config()
		config.ConnConfig.RuntimeParams["lock_timeout"] = "7s"
		db := open(t, config)
		impatient := meta
		impatient.Patience = 50 * time.Millisecond
		var forTheWork string
		_, err := claim.Run(t.Context(), db, friday, impatient, func(ctx context.Context, tx pgx.Tx) error {
			return tx.QueryRow(ctx, `SHOW lock_timeout`).Scan(&forTheWork)
		})
		require.NoError(t, err)
		require.Equal(t, "7s", forTheWork)
	})
}
