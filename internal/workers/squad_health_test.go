package workers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/workers"
)

func TestSquadHealth(t *testing.T) {
	t.Parallel()
	pool := newCommunity(t)
	write(t, pool, `INSERT INTO squads (name, leader_id) VALUES ('Jaguares', 11)`)
	write(t, pool, `INSERT INTO squad_members SELECT 1, n FROM generate_series(11, 14) n`)
	write(t, pool, `INSERT INTO activity (member_id, points, occurred_at) VALUES
		(11, 5, '2026-05-25 14:00:00Z'), (12, 8, '2026-05-25 13:59:59Z'), (13, 9, '2026-06-01 14:00:00Z')`)
	for range 2 {
		require.NoError(t, attempt(t, pool, workers.SquadHealth{}, "2026-W23", "2026-06-01T14:00:00Z"))
		require.Equal(t, []string{"2026-W23 1/4 0.2500"}, texts(t, pool, `SELECT format('%s %s/%s %s', period, active, members, share) FROM squad_health`))
		require.Equal(t, []string{"11 2026-W23 ⚠️ Poca actividad esta semana. Miembros activos: Jaguares 25 %"},
			texts(t, pool, `SELECT concat_ws(' ', member_id, period, text) FROM notifications`))
	}
}
