package community

import (
	"context"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5"
)

// Leaderboard is the kind of the summary thread and of the notifications, and
// the reason of the bonus in the ledger.
const Leaderboard = "leaderboard"

// Bonus is what each of the best three is paid, in Coins.
const Bonus = 10

var medals = []string{"🥇", "🥈", "🥉"}

// A Place is one of the best three of a closed week.
type Place struct {
	Place    int
	MemberID int64
	Handle   string
	Points   int64
}

// CloseLeaderboard ends the week: it fixes the best three, posts the summary
// thread in section "general", and gives each of them a notification and
// [Bonus] Coins. Nobody is placed with zero points, so fewer than three may
// be; the thread is posted even if there is nobody to name. Ties go to who
// reached the total first, then to the smaller id.
//
// A week that is already closed keeps its places, whatever its points have
// become since: repeating the call pays the same members or nobody.
func CloseLeaderboard(ctx context.Context, tx pgx.Tx, week Week) error {
	if err := fixPlaces(ctx, tx, week); err != nil {
		return err
	}
	places, err := Places(ctx, tx, week.Period)
	if err != nil {
		return err
	}
	err = postThread(ctx, tx, thread{
		section: "general",
		kind:    Leaderboard,
		period:  week.Period,
		title:   "🏆 Top 3 de la semana — " + date(week.To),
		body:    summary(places),
		at:      week.To,
	})
	if err != nil {
		return err
	}
	winners := make([]int64, len(places))
	for i, p := range places {
		winners[i] = p.MemberID
	}
	if err := Credit(ctx, tx, Leaderboard, week.Period, Bonus, winners); err != nil {
		return err
	}
	return congratulate(ctx, tx, week.Period)
}

const fixPlacesSQL = `
INSERT INTO leaderboard_places (period, place, member_id, points)
SELECT $1, place, member_id, points
FROM standings($2, $3)
WHERE place <= 3 AND points > 0
  AND NOT EXISTS (SELECT FROM leaderboard_places WHERE period = $1)
ORDER BY place
ON CONFLICT DO NOTHING`

func fixPlaces(ctx context.Context, tx pgx.Tx, week Week) error {
	if _, err := tx.Exec(ctx, fixPlacesSQL, week.Period, week.From, week.To); err != nil {
		return fmt.Errorf("fix places: %w", err)
	}
	return nil
}

const placesSQL = `
SELECT p.place, p.member_id, m.handle, p.points
FROM leaderboard_places p
JOIN members m ON m.id = p.member_id
WHERE p.period = $1
ORDER BY p.place`

// Places are the best of a closed week in order, at most three; none if the
// week is not closed or nobody scored.
func Places(ctx context.Context, db DB, period string) ([]Place, error) {
	rows, err := db.Query(ctx, placesSQL, period)
	if err != nil {
		return nil, fmt.Errorf("read places: %w", err)
	}
	places, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Place])
	if err != nil {
		return nil, fmt.Errorf("read places: %w", err)
	}
	return places, nil
}

func summary(places []Place) string {
	if len(places) == 0 {
		return "Esta semana nadie sumó puntos. ¡La próxima puede ser la tuya!"
	}
	lines := make([]string, len(places))
	for i, p := range places {
		lines[i] = fmt.Sprintf("%s @%s — puntos: %d", medals[i], p.Handle, p.Points)
	}
	return strings.Join(lines, "\n")
}

const congratulateSQL = `
INSERT INTO notifications (member_id, kind, period, text)
SELECT member_id, $1, $2,
       format('%s ¡Quedaste en el top 3! +%s Coins por tu actividad esta semana.', ($3::text[])[place], $4::bigint)
FROM leaderboard_places
WHERE period = $2
ORDER BY member_id
ON CONFLICT (member_id, kind, period) DO NOTHING`

func congratulate(ctx context.Context, tx pgx.Tx, period string) error {
	if _, err := tx.Exec(ctx, congratulateSQL, Leaderboard, period, medals, Bonus); err != nil {
		return fmt.Errorf("congratulate the top three: %w", err)
	}
	return nil
}
