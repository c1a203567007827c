package community

import (
	"context"
	"errors"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// An Award is what one placed member received for a closed week, read from
// where it was written: the notification, the ledger, the wallet.
type Award struct {
	Place         int      `json:"place"`
	MemberID      int64    `json:"member_id"`
	Handle        string   `json:"handle"`
	Points        int64    `json:"points"`
	Notifications []string `json:"notifications"`
	Coins         int64    `json:"coins"`   // from the ledger, for this week
	Balance       int64    `json:"balance"` // of the wallet, now
}

const awardsSQL = `
SELECT p.place, p.member_id, m.handle, p.points,
       ARRAY(SELECT n.text FROM notifications n
             WHERE n.member_id = p.member_id AND n.kind = $2 AND n.period = p.period ORDER BY n.id),
       (SELECT coalesce(sum(t.coins), 0)::bigint FROM token_transactions t
        WHERE t.member_id = p.member_id AND t.reason = $2 AND t.period = p.period),
       coalesce(w.coins, 0)
FROM leaderboard_places p
JOIN members m ON m.id = p.member_id
LEFT JOIN wallets w ON w.member_id = p.member_id
WHERE p.period = $1
ORDER BY p.place`

// Awards tells who received what for a closed week, in order of place; none
// if the week is not closed.
func Awards(ctx context.Context, db DB, period string) ([]Award, error) {
	rows, err := db.Query(ctx, awardsSQL, period, Leaderboard)
	if err != nil {
		return nil, fmt.Errorf("read awards: %w", err)
	}
	awards, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Award])
	if err != nil {
		return nil, fmt.Errorf("read awards: %w", err)
	}
	return awards, nil
}

const summaryTitleSQL = `SELECT title FROM threads WHERE kind = $1 AND period = $2`

// SummaryTitle is the title of the thread that the bot posted for a closed
// week, or an error that wraps [ErrNotFound].
func SummaryTitle(ctx context.Context, db DB, period string) (string, error) {
	var title string
	err := db.QueryRow(ctx, summaryTitleSQL, Leaderboard, period).Scan(&title)
	if errors.Is(err, pgx.ErrNoRows) {
		return "", fmt.Errorf("read summary thread: period %s %w", period, ErrNotFound)
	}
	if err != nil {
		return "", fmt.Errorf("read summary thread: %w", err)
	}
	return title, nil
}

// Totals count what a closed week wrote, whoever received it.
type Totals struct {
	Notifications int64 `json:"notifications"`
	Bonuses       int64 `json:"bonuses"`
	Coins         int64 `json:"coins"`
	Threads       int64 `json:"threads"`
}

const awardTotalsSQL = `
SELECT (SELECT count(*) FROM notifications WHERE kind = $2 AND period = $1),
       (SELECT count(*) FROM token_transactions WHERE reason = $2 AND period = $1),
       (SELECT coalesce(sum(coins), 0)::bigint FROM token_transactions WHERE reason = $2 AND period = $1),
       (SELECT count(*) FROM threads WHERE kind = $2 AND period = $1)`

// AwardTotals counts what the close of a week wrote: the check that nobody
// beside its winners was paid.
func AwardTotals(ctx context.Context, db DB, period string) (Totals, error) {
	rows, err := db.Query(ctx, awardTotalsSQL, period, Leaderboard)
	if err != nil {
		return Totals{}, fmt.Errorf("count awards: %w", err)
	}
	totals, err := pgx.CollectExactlyOneRow(rows, pgx.RowToStructByPos[Totals])
	if err != nil {
		return Totals{}, fmt.Errorf("count awards: %w", err)
	}
	return totals, nil
}
