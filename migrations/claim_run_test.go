package migrations_test

import (
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

func TestClaimRun(t *testing.T) {
	t.Parallel()

	t.Run("OneCallerHasIt", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.New(t)
		require.Equal(t, "true", text(t, db, `SELECT claim_run('digest', '2026-W22')`))
		require.Equal(t, "false", text(t, db, `SELECT claim_run('digest', '2026-W22')`))
		require.Equal(t, "true", text(t, db, `SELECT claim_run(key => '2026-W23', name => 'digest')`))
		require.Equal(t, "ran sql t", text(t, db, `SELECT concat_ws(' ', outcome, source, slot_at IS NULL AND job_id IS NULL)
			FROM worker_runs WHERE key = '2026-W22'`))
	})

	t.Run("ASkippedSlotIsTakenForAMachine", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.New(t)
		write(t, db, `INSERT INTO worker_runs (name, key, outcome) VALUES ('digest', 'k', 'skipped_late')`)
		require.Equal(t, "false", text(t, db, `SELECT claim_run('digest', 'k')`))
	})

	t.Run("TheSecondWaitsForTheFirst", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.New(t)
		first, err := db.Begin(t.Context())
		require.NoError(t, err)
		_, err = first.Exec(t.Context(), `SELECT claim_run('digest', 'k')`)
		require.NoError(t, err)
		var second errgroup.Group
		var mine bool
		second.Go(func() error { return db.QueryRow(t.Context(), `SELECT claim_run('digest', 'k')`).Scan(&mine) })
		require.Eventually(t, func() bool {
			return count(t, db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 1
		}, 30*time.Second, 10*time.Millisecond)
		require.NoError(t, first.Rollback(t.Context()))
		require.NoError(t, second.Wait())
		require.True(t, mine)
	})

	t.Run("ItsTransactionIsDurableWhateverTheSessionSays", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.New(t)
		require.NoError(t, pgx.BeginFunc(t.Context(), db, func(tx pgx.Tx) error {
			_, err := tx.Exec(t.Context(), `SET LOCAL synchronous_commit = off; SELECT claim_run('digest', 'k')`)
			require.NoError(t, err)
			var setting string
			require.NoError(t, tx.QueryRow(t.Context(), `SHOW synchronous_commit`).Scan(&setting))
			require.Equal(t, "on", setting)
			return nil
		}))
	})

	t.Run("I5RefusesWhatIsNoName", func(t *testing.T) {
		t.Parallel()
		db := postgrestest.New(t)
		for call, want := range map[string]string{
			`NULL, 'k'`: "name must have 1 to 100 characters and not be blank",
			`'', 'k'`:   "name must have 1 to 100 characters and not be blank",
			`'` + strings.Repeat("n", 101) + `', 'k'`: "name must have 1 to 100 characters and not be blank",
			`'digest', NULL`:      "key must have 1 to 200 characters and not be blank",
			`'digest', E' \n\t '`: "key must have 1 to 200 characters and not be blank",
			`'digest', '` + strings.Repeat("k", 201) + `'`: "key must have 1 to 200 characters and not be blank",
		} {
			refused := refusal(t, db, `SELECT claim_run(`+call+`)`)
			require.Equal(t, "claim_run: "+want, refused.Message, call)
			require.Equal(t, pgerrcode.InvalidParameterValue, refused.Code)
		}
		require.Zero(t, count(t, db, `SELECT count(*) FROM worker_runs`))
	})
}
