package workers_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/workers"
)

// The local 29 May 2026 is [06:00Z, 06:00Z): the first and the last slot of
// the day decide, and all 96 of them give one notification.
func TestAnniversary(t *testing.T) {
	t.Parallel()
	pool := newCommunity(t)
	write(t, pool, `UPDATE members SET joined_on = CASE id WHEN 11 THEN date '2024-05-28' WHEN 12 THEN '2024-05-29' WHEN 13 THEN '2024-05-30' ELSE '2024-01-01' END`)
	who := func() []string {
		return texts(t, pool, `SELECT concat_ws(' ', member_id, period) FROM notifications ORDER BY member_id`)
	}
	run := func(at time.Time) {
		key := at.Format(time.RFC3339)
		require.NoError(t, attempt(t, pool, workers.Anniversary{}, key, key))
	}

	first := time.Date(2026, time.May, 29, 6, 0, 0, 0, time.UTC)
	run(first.Add(-15 * time.Minute))
	require.Equal(t, []string{"11 2026"}, who())
	for i := range 96 {
		run(first.Add(time.Duration(i) * 15 * time.Minute))
		require.Equal(t, []string{"11 2026", "12 2026"}, who())
	}
	run(first.Add(24 * time.Hour))
	require.Equal(t, []string{"11 2026", "12 2026", "13 2026"}, who())
}
