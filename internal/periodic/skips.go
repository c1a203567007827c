package periodic

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// A Skipped range of slots was never enqueued. Slots counts those of the range
// that had not run then.
type Skipped struct {
	Name        string
	First, Last time.Time
	Slots       int64
	Outcome     string
	At          time.Time // when it was decided
	Replica     *string   // which replica found them
	Note        *string   // more about why, where there is more
}

const skipsSQL = `
SELECT name, first_slot, last_slot, slots, outcome, skipped_at, replica, note
FROM slot_skips
WHERE ($1 = '' OR name = $1) AND skipped_at >= $2
ORDER BY skipped_at DESC, id DESC
LIMIT $3`

// Skips returns the newest ranges first: those of name, or of every schedule if
// it is empty, decided at or after since.
func Skips(ctx context.Context, db DB, name string, since time.Time, limit int) ([]Skipped, error) {
	rows, err := db.Query(ctx, skipsSQL, name, since, limit)
	if err != nil {
		return nil, fmt.Errorf("read skips: %w", err)
	}
	skips, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Skipped])
	if err != nil {
		return nil, fmt.Errorf("read skips: %w", err)
	}
	return skips, nil
}
