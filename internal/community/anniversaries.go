package community

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"github.com/jackc/pgx/v5"
)

// Anniversary is the kind of the notification on the anniversary of joining.
const Anniversary = "anniversary"

// Adding years to a 29 February gives the 28th in a year that has no 29th:
// date arithmetic cuts to the month's last day.
const celebrateSQL = `
INSERT INTO notifications (member_id, kind, period, text)
SELECT m.id, $1, $2,
       format('🎂 ¡Hoy cumples %s en la comunidad! Gracias por ser parte.',
              CASE y.years WHEN 1 THEN '1 año' ELSE y.years || ' años' END)
FROM members m
CROSS JOIN LATERAL (
    SELECT (extract(year FROM $3::date) - extract(year FROM m.joined_on))::integer AS years
) y
WHERE NOT m.is_bot AND y.years > 0
  AND m.joined_on + make_interval(years => y.years) = $3::date
ORDER BY m.id
ON CONFLICT (member_id, kind, period) DO NOTHING`

// CelebrateAnniversaries notifies the members who joined on this calendar day
// of an earlier year; who joined on a 29 February is celebrated on the 28th in
// other years. day is a local date: only its year, month and day count. The
// period is the year, so a member gets one a year however often it is called.
func CelebrateAnniversaries(ctx context.Context, tx pgx.Tx, day time.Time) error {
	if _, err := tx.Exec(ctx, celebrateSQL, Anniversary, strconv.Itoa(day.Year()), day); err != nil {
		return fmt.Errorf("celebrate anniversaries: %w", err)
	}
	return nil
}
