package community_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/community"
)

func TestSendDigests(t *testing.T) {
	t.Parallel()

	startThread := func(at time.Time) (string, time.Time) {
		return `INSERT INTO threads (section_id, author_id, title, body, created_at) VALUES (1, 11, 't', 'b', $1)`, at
	}

	t.Run("EachActiveMemberGetsOwnPointsRankAndTheNewThreads", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		score(t, pool, 11, 5, week.From)
		score(t, pool, 11, 5, friday.Add(-2*time.Hour))
		score(t, pool, 12, 10, friday.Add(-3*time.Hour)) // the same total, reached first
		score(t, pool, 13, 0, friday.Add(-time.Hour))    // active, though without points
		score(t, pool, 14, 50, week.From.Add(-time.Second))
		score(t, pool, 15, 50, week.To)
		score(t, pool, 1, 50, friday.Add(-time.Hour)) // the bot
		for _, at := range []time.Time{week.From.Add(-time.Second), week.From, friday.Add(-time.Second), week.To} {
			sql, created := startThread(at)
			exec(t, pool, sql, created)
		}
		for range 2 {
			commit(t, pool, func(tx pgx.Tx) error { return community.SendDigests(t.Context(), tx, week) })
			require.Equal(t, []string{
				"11 weekly_digest 2026-W22 📬 Tu semana en la comunidad. Puntos: 10 · Lugar: 2 de 3 · Hilos nuevos: 2",
				"12 weekly_digest 2026-W22 📬 Tu semana en la comunidad. Puntos: 10 · Lugar: 1 de 3 · Hilos nuevos: 2",
				"13 weekly_digest 2026-W22 📬 Tu semana en la comunidad. Puntos: 0 · Lugar: 3 de 3 · Hilos nuevos: 2",
			}, notified(t, pool))
		}
	})

	t.Run("AQuietWeekSendsNone", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		commit(t, pool, func(tx pgx.Tx) error { return community.SendDigests(t.Context(), tx, week) })
		require.Empty(t, notified(t, pool))
	})
}
