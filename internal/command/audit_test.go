package command_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// weeksBack is the leaderboard's slot some weeks ago.
func weeksBack(t *testing.T, weeks int) (slot time.Time, key string) {
	t.Helper()
	mexicoCity, err := time.LoadLocation("America/Mexico_City")
	require.NoError(t, err)
	now := time.Now().In(mexicoCity)
	friday := time.Date(now.Year(), now.Month(), now.Day()-int(now.Weekday()+2)%7, 18, 0, 0, 0, mexicoCity)
	slot = friday.AddDate(0, 0, -7*weeks)
	year, week := slot.ISOWeek()
	return slot, fmt.Sprintf("%04d-W%02d", year, week)
}

// knownFor makes the schedules known since some weeks ago, with nothing owed
// but the leaderboard's slots.
func knownFor(t *testing.T, db *pgxpool.Pool, weeks int) {
	t.Helper()
	_, err := db.Exec(t.Context(), `
		UPDATE worker_schedules SET known_since = now() - $1 * interval '1 week', definition_changed_at = now() - $1 * interval '1 week'
		WHERE name = 'leaderboard_close'`, weeks)
	require.NoError(t, err)
}

func TestAudit(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	slot, key := weeksBack(t, 1)
	before, keyBefore := weeksBack(t, 2)
	seedDemo(t, db, slot)
	serve(t, db, "once").terminate(t)
	knownFor(t, db, 3)
	for _, at := range []time.Time{before, slot} {
		_, stderr, status := run(t, db, "run", "leaderboard_close", "--slot", at.UTC().Format(time.RFC3339))
		require.Zero(t, status, stderr)
	}
	audit := []string{"audit", "leaderboard_close", "--from", before.Add(-time.Hour).UTC().Format(time.RFC3339), "--to", slot.UTC().Format(time.RFC3339), "--json"}

	stdout, stderr, status := run(t, db, audit...)
	require.Zero(t, status, stdout+stderr)
	require.Contains(t, stdout, `"expected": 2,`)
	require.Contains(t, stdout, `"ran": 2,`)
	require.Equal(t, 4, strings.Count(stdout, ": []"), "a list that is empty is not null: missing, doubled, unexpected, forced")

	_, err := db.Exec(t.Context(), `DELETE FROM worker_runs WHERE key = $1`, keyBefore)
	require.NoError(t, err)
	_, err = db.Exec(t.Context(), `ALTER TABLE token_transactions DROP CONSTRAINT token_transactions_member_id_reason_period_key`)
	require.NoError(t, err)
	_, err = db.Exec(t.Context(), `
		WITH again AS (
			INSERT INTO token_transactions (member_id, reason, period, coins)
			SELECT member_id, reason, period, coins FROM token_transactions WHERE reason = 'leaderboard' AND period = $1 ORDER BY id LIMIT 1
			RETURNING member_id, coins
		)
		UPDATE wallets SET coins = wallets.coins + again.coins FROM again WHERE wallets.member_id = again.member_id`, key)
	require.NoError(t, err)

	stdout, stderr, status = run(t, db, audit[:len(audit)-1]...)
	require.Equal(t, 3, status, stdout+stderr)
	require.Regexp(t, `(?m)^missing +leaderboard_close@`+keyBefore+` *$`, stdout)
	require.Regexp(t, `(?m)^doubled +leaderboard_close@`+key+` +one effect is there 2 times$`, stdout)
	require.Regexp(t, `(?m)^unexpected +leaderboard_close@`+keyBefore+` +there are effects, and no run$`, stdout)
	require.Contains(t, stdout, "2 slots expected: 1 ran, 1 missing, 1 doubled, 1 unexpected")
	require.Equal(t, "app: audit: what ran is not what should have run\n", stderr)

	stdout, _, status = run(t, db, audit...)
	require.Equal(t, 3, status)
	require.Contains(t, stdout, `"key": "`+keyBefore+`"`)
	_, _, status = run(t, db, "audit", "unknown")
	require.Equal(t, 2, status)
}
