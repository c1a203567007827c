package claim_test

import (
	"context"
	"errors"
	"strconv"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/claim"
)

// TestRestore: whatever SQL that is not ours does to a session is over when the
// next one gets it, on the same connection.
func TestRestore(t *testing.T) {
	t.Parallel()
	const state = `
		SELECT concat_ws(' ', pg_backend_pid(), current_setting('search_path'), current_setting('statement_timeout'), current_setting('work_mem'),
		    current_user, (SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()),
		    (SELECT count(*) FROM pg_cursors WHERE is_holdable), (SELECT count(*) FROM pg_listening_channels()),
		    to_regclass('pg_temp.effects'))`
	config := newDB(t).Config()
	config.MaxConns = 1
	config.ConnConfig.RuntimeParams["statement_timeout"] = "20s"
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		_, err := conn.Exec(ctx, `SET work_mem = '5MB'`)
		return err
	}
	db := open(t, config)
	found := func() (found string) {
		require.NoError(t, db.QueryRow(t.Context(), state).Scan(&found))
		return found
	}
	clean := found()
	require.Contains(t, clean, " 20s 5MB ")

	careless := func(ctx context.Context, tx pgx.Tx) error {
		claim.Restore(tx)
		for _, sql := range []string{
			`SET statement_timeout = 0`, `SELECT set_config('work_mem', '1MB', false)`, `SELECT pg_advisory_lock(7)`,
			`DECLARE held CURSOR WITH HOLD FOR SELECT 1`, `LISTEN other`, `CREATE TEMP TABLE effects (n int)`, `PREPARE mine AS SELECT 1`, `SET search_path = pg_temp, public`,
		} {
			if _, err := tx.Exec(ctx, sql); err != nil {
				return err
			}
		}
		return nil
	}
	outcome, err := claim.Run(t.Context(), db, friday, meta, careless)
	require.NoError(t, err)
	require.Equal(t, claim.Ran, outcome)
	require.Equal(t, clean, found())

	_, err = claim.Run(t.Context(), db, claim.Key{Name: "fails", Key: "k"}, meta, func(ctx context.Context, tx pgx.Tx) error {
		return errors.Join(careless(ctx, tx), errors.New("too bad"))
	})
	require.EqualError(t, err, "claim fails@k: too bad")
	require.Equal(t, clean, found(), "a session lock outlasts a rollback")

	// pgx has prepared what claims execute, and counts on it.
	for i, step := range []claim.Step{pay, func(ctx context.Context, tx pgx.Tx) error {
		claim.Restore(tx)
		_, err := tx.Exec(ctx, `DEALLOCATE ALL`)
		return err
	}, pay} {
		_, err = claim.Run(t.Context(), db, claim.Key{Name: "forgets", Key: strconv.Itoa(i)}, meta, step)
		require.Equal(t, i == 1, err != nil, "only its own completion fails: %v", err)
	}
	require.Equal(t, clean, found())

	_, err = claim.Run(t.Context(), db, claim.Key{Name: "role", Key: "k"}, meta, pay, func(ctx context.Context, tx pgx.Tx) error {
		claim.Restore(tx)
		_, err := tx.Exec(ctx, `SET ROLE pg_monitor`)
		return err
	})
	require.NoError(t, err)
	require.Equal(t, clean, found())
}
