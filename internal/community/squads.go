package community

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// SquadHealth is the kind of the notification to a squad's leader.
const SquadHealth = "squad_health"

// healthyPercent is the share of active members below which a leader is told.
const healthyPercent = 40

// MeasureSquads stores for each squad how many of its members were active in
// the week, and notifies the leaders of squads below 40 %. Exactly 40 % is
// healthy, a squad without members is neither, and bots do not count. Who
// leads several such squads gets one notification that names them all. A
// measure that is already stored for the period stays as it is.
func MeasureSquads(ctx context.Context, tx pgx.Tx, week Week) error {
	if err := storeHealth(ctx, tx, week); err != nil {
		return err
	}
	return warnLeaders(ctx, tx, week.Period)
}

const storeHealthSQL = `
INSERT INTO squad_health (squad_id, period, members, active)
SELECT q.id, $1, count(m.id), count(s.member_id)
FROM squads q
LEFT JOIN squad_members sm ON sm.squad_id = q.id
LEFT JOIN members m ON m.id = sm.member_id AND NOT m.is_bot
LEFT JOIN standings($2, $3) s ON s.member_id = m.id
GROUP BY q.id
ORDER BY q.id
ON CONFLICT (squad_id, period) DO NOTHING`

func storeHealth(ctx context.Context, tx pgx.Tx, week Week) error {
	if _, err := tx.Exec(ctx, storeHealthSQL, week.Period, week.From, week.To); err != nil {
		return fmt.Errorf("store squad health: %w", err)
	}
	return nil
}

// The percentage is cut, not rounded: 39.9 % must not read "40 %" in a warning
// about less than 40 %.
const warnLeadersSQL = `
INSERT INTO notifications (member_id, kind, period, text)
SELECT q.leader_id, $1, $2,
       '⚠️ Poca actividad esta semana. Miembros activos: ' ||
       string_agg(format('%s %s %%', q.name, h.active * 100 / h.members), ', ' ORDER BY q.id)
FROM squad_health h
JOIN squads q ON q.id = h.squad_id
WHERE h.period = $2 AND h.active * 100 < h.members * $3::integer
GROUP BY q.leader_id
ORDER BY q.leader_id
ON CONFLICT (member_id, kind, period) DO NOTHING`

func warnLeaders(ctx context.Context, tx pgx.Tx, period string) error {
	if _, err := tx.Exec(ctx, warnLeadersSQL, SquadHealth, period, healthyPercent); err != nil {
		return fmt.Errorf("warn squad leaders: %w", err)
	}
	return nil
}
