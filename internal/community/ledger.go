package community

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// Both inserts go in ascending member id: two transactions that credit the
// same members wait for each other instead of deadlocking.
const creditSQL = `
WITH paid AS (
    INSERT INTO token_transactions (member_id, reason, period, coins)
    SELECT member_id, $1, $2, $3 FROM unnest($4::bigint[]) AS member_id ORDER BY member_id
    ON CONFLICT (member_id, reason, period) DO NOTHING
    RETURNING member_id, coins
)
INSERT INTO wallets AS w (member_id, coins)
SELECT member_id, coins FROM paid ORDER BY member_id
ON CONFLICT (member_id) DO UPDATE SET coins = w.coins + EXCLUDED.coins`

// Credit pays coins to each member, in the ledger and in the wallet, which it
// opens if there is none. A member who was already paid for this reason and
// period is left alone, so calling it again never pays twice.
func Credit(ctx context.Context, tx pgx.Tx, reason, period string, coins int64, members []int64) error {
	if _, err := tx.Exec(ctx, creditSQL, reason, period, coins, members); err != nil {
		return fmt.Errorf("credit %s %s: %w", reason, period, err)
	}
	return nil
}

// A Mismatch is a member whose wallet is not the sum of the ledger.
type Mismatch struct {
	MemberID int64
	Wallet   int64
	Ledger   int64
}

const walletMismatchesSQL = `SELECT member_id, wallet, ledger FROM wallet_mismatches ORDER BY member_id`

// WalletMismatches lists the members whose wallet and ledger disagree. The
// database refuses to commit such a state, so it is empty unless the triggers
// were switched off.
func WalletMismatches(ctx context.Context, db DB) ([]Mismatch, error) {
	rows, err := db.Query(ctx, walletMismatchesSQL)
	if err != nil {
		return nil, fmt.Errorf("compare wallets and ledger: %w", err)
	}
	mismatches, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Mismatch])
	if err != nil {
		return nil, fmt.Errorf("compare wallets and ledger: %w", err)
	}
	return mismatches, nil
}

const paidSQL = `
SELECT period, max(times)
FROM (SELECT period, member_id, count(*) AS times FROM token_transactions
      WHERE reason = $1 AND created_at >= $2 GROUP BY period, member_id) paid
GROUP BY period`

// Paid tells for which periods the ledger has payments that were written since
// an instant, and how often it paid the same member at most: once, if all is
// well.
func Paid(ctx context.Context, db DB, reason string, since time.Time) (map[string]int64, error) {
	rows, err := db.Query(ctx, paidSQL, reason, since)
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	paid := make(map[string]int64)
	var period string
	var times int64
	_, err = pgx.ForEachRow(rows, []any{&period, &times}, func() error {
		paid[period] = times
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("read the ledger: %w", err)
	}
	return paid, nil
}
