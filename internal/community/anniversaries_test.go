package community_test

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/community"
)

func celebrate(t *testing.T, pool *pgxpool.Pool, year int, month time.Month, day int) {
	t.Helper()
	local := time.Date(year, month, day, 23, 45, 0, 0, mexicoCity) // already the next day in UTC
	commit(t, pool, func(tx pgx.Tx) error { return community.CelebrateAnniversaries(t.Context(), tx, local) })
}

func TestCelebrateAnniversaries(t *testing.T) {
	t.Parallel()

	joined := func(t *testing.T, dates map[int]string) *pgxpool.Pool {
		t.Helper()
		pool := world(t)
		for member, date := range dates {
			exec(t, pool, `UPDATE members SET joined_on = $2 WHERE id = $1`, member, date)
		}
		return pool
	}

	t.Run("OnTheDayOfAnEarlierYearOnly", func(t *testing.T) {
		t.Parallel()
		pool := joined(t, map[int]string{
			1: "2024-05-29", 11: "2025-05-29", 12: "2023-05-29", 13: "2026-05-29", 14: "2025-05-30", 15: "2025-05-28", 16: "2027-05-29",
		})
		for range 96 {
			celebrate(t, pool, 2026, time.May, 29)
		}
		require.Equal(t, []string{
			"11 anniversary 2026 🎂 ¡Hoy cumples 1 año en la comunidad! Gracias por ser parte.",
			"12 anniversary 2026 🎂 ¡Hoy cumples 3 años en la comunidad! Gracias por ser parte.",
		}, notified(t, pool))
	})

	t.Run("WhoIsAddedDuringTheDayIsNotMissed", func(t *testing.T) {
		t.Parallel()
		pool := world(t)
		celebrate(t, pool, 2026, time.May, 29)
		require.Empty(t, notified(t, pool))
		exec(t, pool, `UPDATE members SET joined_on = '2020-05-29' WHERE id = 11`)
		celebrate(t, pool, 2026, time.May, 29)
		require.Len(t, notified(t, pool), 1)
	})

	t.Run("TheTwentyNinthOfFebruaryIsTheTwentyEighthInOtherYears", func(t *testing.T) {
		t.Parallel()
		pool := joined(t, map[int]string{11: "2024-02-29", 12: "2024-02-28", 13: "2024-03-01"})
		const text = " año en la comunidad! Gracias por ser parte."
		who := func() []string {
			return list(t, pool, `SELECT concat_ws(' ', member_id, period) FROM notifications ORDER BY id`)
		}

		celebrate(t, pool, 2025, time.February, 28)
		require.Equal(t, []string{"11 2025", "12 2025"}, who())
		celebrate(t, pool, 2025, time.March, 1)
		require.Equal(t, []string{"11 2025", "12 2025", "13 2025"}, who())
		celebrate(t, pool, 2028, time.February, 28)
		require.Equal(t, []string{"11 2025", "12 2025", "13 2025", "12 2028"}, who())
		celebrate(t, pool, 2028, time.February, 29)
		require.Equal(t, []string{"11 2025", "12 2025", "13 2025", "12 2028", "11 2028"}, who())
		require.Equal(t, "11 anniversary 2025 🎂 ¡Hoy cumples 1"+text, notified(t, pool)[0])
	})
}
