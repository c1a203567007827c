package workers_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/workers"
)

func TestZombieThreads(t *testing.T) {
	t.Parallel()
	pool := newCommunity(t)
	write(t, pool, `INSERT INTO threads (section_id, author_id, title, body, created_at) VALUES (1, 11, 't', 'b', '2026-05-01 12:00:00Z')`)
	state := func() string {
		return texts(t, pool, `SELECT format('nudges %s, nudged %s, closed %s', (SELECT count(*) FROM replies),
			coalesce(to_char(nudged_at AT TIME ZONE 'UTC', 'MM-DD HH24:MI'), '-'), coalesce(to_char(closed_at AT TIME ZONE 'UTC', 'MM-DD HH24:MI'), '-')) FROM threads`)[0]
	}
	for _, step := range []struct{ slot, state string }{
		{"2026-05-31T11:45:00Z", "nudges 0, nudged -, closed -"},
		{"2026-05-31T12:00:00Z", "nudges 1, nudged 05-31 12:00, closed -"},
		{"2026-05-31T12:00:00Z", "nudges 1, nudged 05-31 12:00, closed -"}, // the same slot again
		{"2026-06-14T11:45:00Z", "nudges 1, nudged 05-31 12:00, closed -"},
		{"2026-06-14T12:00:00Z", "nudges 1, nudged 05-31 12:00, closed 06-14 12:00"},
		{"2026-06-14T12:15:00Z", "nudges 1, nudged 05-31 12:00, closed 06-14 12:00"},
	} {
		require.NoError(t, attempt(t, pool, workers.ZombieThreads{}, step.slot, step.slot))
		require.Equal(t, step.state, state(), step.slot)
	}
}
