package workers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/workers"
)

func TestWeeklyDigest(t *testing.T) {
	t.Parallel()
	pool := newCommunity(t)
	write(t, pool, `INSERT INTO activity (member_id, points, occurred_at) VALUES
		(11, 5, '2026-05-25 15:00:00Z'), (12, 8, '2026-06-01 14:59:59Z'), (13, 9, '2026-05-25 14:59:59Z'), (14, 9, '2026-06-01 15:00:00Z')`)
	write(t, pool, `INSERT INTO threads (section_id, author_id, title, body, created_at) VALUES (1, 11, 't', 'b', '2026-05-28Z')`)
	for range 2 {
		require.NoError(t, attempt(t, pool, workers.WeeklyDigest{}, "2026-W23", "2026-06-01T15:00:00Z"))
		require.Equal(t, []string{
			"11 2026-W23 📬 Tu semana en la comunidad. Puntos: 5 · Lugar: 2 de 2 · Hilos nuevos: 1",
			"12 2026-W23 📬 Tu semana en la comunidad. Puntos: 8 · Lugar: 1 de 2 · Hilos nuevos: 1",
		}, texts(t, pool, `SELECT concat_ws(' ', member_id, period, text) FROM notifications ORDER BY member_id`))
	}
}
