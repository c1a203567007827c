package community_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ranura/ranura/internal/community"
)

const balancesSQL = `SELECT concat_ws(' ', member_id, coins) FROM wallets ORDER BY member_id`

func TestCredit(t *testing.T) {
	t.Parallel()

	t.Run("PaysOncePerReasonAndPeriod", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		for _, paid := range []struct {
			period  string
			members []int64
		}{{"2026-W22", []int64{11, 12}}, {"2026-W22", []int64{12, 13}}, {"2026-W23", []int64{11}}} {
			commit(t, pool, func(tx pgx.Tx) error {
				return community.Credit(t.Context(), tx, "bonus", paid.period, 10, paid.members)
			})
		}
		require.Equal(t, []string{"11 20", "12 10", "13 10"}, list(t, pool, balancesSQL))
		mismatches, err := community.WalletMismatches(t.Context(), pool)
		require.NoError(t, err)
		require.Empty(t, mismatches)
	})

	// Case E4. Member 11's wallet is held until both credits queue for it, the
	// ascending one first. A credit that locked in the order it was given would
	// by then hold 12, which the other one needs next.
	t.Run("OppositeOrdersDoNotDeadlock", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		commit(t, pool, func(tx pgx.Tx) error { return community.Credit(t.Context(), tx, "welcome", "2025", 5, []int64{11, 12}) })

		holder, err := pool.Begin(t.Context())
		require.NoError(t, err)
		_, err = holder.Exec(t.Context(), `SELECT FROM wallets WHERE member_id = 11 FOR UPDATE`)
		require.NoError(t, err)

		var group errgroup.Group
		credit := func(reason string, members ...int64) {
			group.Go(func() error {
				return pgx.BeginFunc(t.Context(), pool, func(tx pgx.Tx) error {
					return community.Credit(t.Context(), tx, reason, "2026-W22", 10, members)
				})
			})
		}
		credit("a", 11, 12)
		waitForBlocked(t, pool, 1)
		credit("b", 12, 11)
		waitForBlocked(t, pool, 2)
		require.NoError(t, holder.Rollback(t.Context()))
		require.NoError(t, group.Wait())
		require.Equal(t, []string{"11 25", "12 25"}, list(t, pool, balancesSQL))
	})
}

func waitForBlocked(t *testing.T, pool *pgxpool.Pool, sessions int) {
	t.Helper()
	require.Eventually(t, func() bool {
		var blocked int
		err := pool.QueryRow(t.Context(), `SELECT count(*) FROM pg_stat_activity
			WHERE datname = current_database() AND wait_event_type = 'Lock'`).Scan(&blocked)
		return err == nil && blocked == sessions
	}, 10*time.Second, 10*time.Millisecond)
}

func TestWalletAndLedgerAgree(t *testing.T) {
	t.Parallel()
	for name, sql := range map[string]string{
		"WalletAloneCannotCommit":  `UPDATE wallets SET coins = coins + 1 WHERE member_id = 11`,
		"LedgerAloneCannotCommit":  `INSERT INTO token_transactions (member_id, reason, period, coins) VALUES (11, 'x', 'y', 1)`,
		"LedgerCannotBeRewritten":  `UPDATE token_transactions SET coins = 11 WHERE member_id = 11`,
		"LedgerCannotBeErased":     `DELETE FROM token_transactions WHERE member_id = 11`,
		"LedgerCannotChangeOwner":  `UPDATE token_transactions SET member_id = 12 WHERE member_id = 11`,
		"WalletCannotBeThrownAway": `DELETE FROM wallets WHERE member_id = 11`,
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := world(t)
			commit(t, pool, func(tx pgx.Tx) error { return community.Credit(t.Context(), tx, "bonus", "2026-W22", 10, []int64{11}) })

			tx, err := pool.Begin(t.Context())
			require.NoError(t, err)
			_, err = tx.Exec(t.Context(), sql)
			require.NoError(t, err)
			mismatches, err := community.WalletMismatches(t.Context(), tx)
			require.NoError(t, err)
			require.NotEmpty(t, mismatches)

			var refused *pgconn.PgError
			require.ErrorAs(t, tx.Commit(t.Context()), &refused)
			require.Equal(t, "23514", refused.Code)
			require.Contains(t, refused.Message, "disagrees with the ledger")
			require.Equal(t, []string{"11 10"}, list(t, pool, balancesSQL))
		})
	}
}
