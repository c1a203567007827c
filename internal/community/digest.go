package community

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// Digest is the kind of the weekly digest's notifications.
const Digest = "weekly_digest"

const sendDigestsSQL = `
INSERT INTO notifications (member_id, kind, period, text)
SELECT s.member_id, $1, $2,
       format('📬 Tu semana en la comunidad. Puntos: %s · Lugar: %s de %s · Hilos nuevos: %s',
              s.points, s.place, count(*) OVER (), t.threads)
FROM standings($3, $4) s
CROSS JOIN (SELECT count(*) AS threads FROM threads WHERE created_at >= $3 AND created_at < $4) t
ORDER BY s.member_id
ON CONFLICT (member_id, kind, period) DO NOTHING`

// SendDigests notifies every member who was active in the week of their own
// points, their rank among the active members (in the leaderboard's order) and
// the number of threads that were started, the bot's included. Bots and
// members without activity get nothing.
func SendDigests(ctx context.Context, tx pgx.Tx, week Week) error {
	if _, err := tx.Exec(ctx, sendDigestsSQL, Digest, week.Period, week.From, week.To); err != nil {
		return fmt.Errorf("send digests: %w", err)
	}
	return nil
}
