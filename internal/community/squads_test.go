package community_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/community"
)

// squad gives a squad members 101 to 100+size, the first `active` of which
// were active in the week.
func squad(t *testing.T, pool *pgxpool.Pool, name string, leader, size, active int) {
	t.Helper()
	exec(t, pool, `INSERT INTO squads (name, leader_id) VALUES ($1, $2)`, name, leader)
	exec(t, pool, `WITH joined AS (
			INSERT INTO members (handle, name, joined_on)
			SELECT $1 || n, 'x', '2025-07-01' FROM generate_series(1, $2::int) n RETURNING id
		), belongs AS (
			INSERT INTO squad_members SELECT (SELECT id FROM squads WHERE name = $1), id FROM joined
		)
		INSERT INTO activity (member_id, points, occurred_at) SELECT id, 1, $4 FROM joined ORDER BY id LIMIT $3`,
		name, size, active, friday.Add(-time.Hour))
}

func measure(t *testing.T, pool *pgxpool.Pool) {
	t.Helper()
	commit(t, pool, func(tx pgx.Tx) error { return community.MeasureSquads(t.Context(), tx, week) })
}

const healthSQL = `SELECT concat_ws(' ', name, period, active, members, coalesce(share::text, '-'))
	FROM squad_health JOIN squads ON id = squad_id ORDER BY id`

func TestMeasureSquads(t *testing.T) {
	t.Parallel()

	t.Run("LeadersHearOnlyBelowFortyPercent", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		exec(t, pool, `ALTER TABLE members ALTER COLUMN id RESTART WITH 1000`)
		squad(t, pool, "Jaguares", 11, 10, 4)
		squad(t, pool, "Coyotes", 12, 10, 3)
		squad(t, pool, "Cenotes", 13, 0, 0)
		squad(t, pool, "Volcanes", 14, 5, 0)
		squad(t, pool, "Magueyes", 15, 128, 51) // 39.84 %
		for range 2 {
			measure(t, pool)
			require.Equal(t, []string{
				"Jaguares 2026-W22 4 10 0.4000", "Coyotes 2026-W22 3 10 0.3000", "Cenotes 2026-W22 0 0 -",
				"Volcanes 2026-W22 0 5 0.0000", "Magueyes 2026-W22 51 128 0.3984",
			}, list(t, pool, healthSQL))
			require.Equal(t, []string{
				"12 squad_health 2026-W22 ⚠️ Poca actividad esta semana. Miembros activos: Coyotes 30 %",
				"14 squad_health 2026-W22 ⚠️ Poca actividad esta semana. Miembros activos: Volcanes 0 %",
				"15 squad_health 2026-W22 ⚠️ Poca actividad esta semana. Miembros activos: Magueyes 39 %",
			}, notified(t, pool))
		}
	})

	t.Run("ALeaderOfTwoGetsOneNotificationThatNamesBoth", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		exec(t, pool, `ALTER TABLE members ALTER COLUMN id RESTART WITH 1000`)
		squad(t, pool, "Jaguares", 11, 10, 1)
		squad(t, pool, "Ajolotes", 11, 5, 1)
		squad(t, pool, "Coyotes", 11, 2, 2)
		measure(t, pool)
		require.Equal(t, []string{
			"11 squad_health 2026-W22 ⚠️ Poca actividad esta semana. Miembros activos: Jaguares 10 %, Ajolotes 20 %",
		}, notified(t, pool))
	})

	t.Run("OnlyPeopleAndOnlyTheWeekCount", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		exec(t, pool, `INSERT INTO squads (name, leader_id) VALUES ('Jaguares', 16)`)
		exec(t, pool, `INSERT INTO squad_members SELECT 1, id FROM members WHERE id <= 14`)
		score(t, pool, 1, 5, friday.Add(-time.Hour)) // the bot: neither active nor a member
		score(t, pool, 11, 0, week.From)             // active, though without points
		score(t, pool, 11, 5, friday.Add(-time.Hour))
		score(t, pool, 12, 5, week.From.Add(-time.Second))
		score(t, pool, 13, 5, week.To)
		measure(t, pool)
		require.Equal(t, []string{"Jaguares 2026-W22 1 4 0.2500"}, list(t, pool, healthSQL))
	})
}
