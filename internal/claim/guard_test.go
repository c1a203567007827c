package claim_test

import (
	"context"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/claim"
)

// exec is a step of one statement.
func exec(sql string, args ...any) claim.Step {
	return func(ctx context.Context, tx pgx.Tx) error {
		_, err := tx.Exec(ctx, sql, args...)
		return err
	}
}

func TestStepCannotEndTheTransaction(t *testing.T) {
	t.Parallel()
	for name, step := range map[string]claim.Step{
		"Commit":          func(ctx context.Context, tx pgx.Tx) error { return tx.Commit(ctx) },
		"Rollback":        func(ctx context.Context, tx pgx.Tx) error { return tx.Rollback(ctx) },
		"LiteralCommit":   exec(`COMMIT`),
		"LowerCase":       exec(` commit and chain`),
		"BehindAComment":  exec("-- done\n/* really */ ; END"),
		"LiteralRollback": exec(`ROLLBACK`),
		"Abort":           exec(`ABORT`),
		"BehindAMacsLine": exec("-- x\rCOMMIT"),
		"BehindATab":      exec("\v\f\tCOMMIT AND CHAIN"),
		"Prepared": func(ctx context.Context, tx pgx.Tx) error {
			if _, err := tx.Prepare(ctx, "end", "COMMIT"); err != nil {
				return err
			}
			_, err := tx.Exec(ctx, "end")
			return err
		},
		"TwoPhase": exec(`PREPARE TRANSACTION 'x'`),
		"InABatch": func(ctx context.Context, tx pgx.Tx) error {
			batch := &pgx.Batch{}
			batch.Queue(`SELECT 1`)
			batch.Queue(`COMMIT`)
			return tx.SendBatch(ctx, batch).Close()
		},
		"OnTheBareConnection": func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Conn().Exec(ctx, `ROLLBACK; BEGIN`)
			return err
		},
		"InASavepoint": func(ctx context.Context, tx pgx.Tx) error {
			inner, err := tx.Begin(ctx)
			if err != nil {
				return err
			}
			defer func() { _ = inner.Rollback(ctx) }()
			_, err = inner.Exec(ctx, `COMMIT`)
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDB(t)
			_, err := claim.Run(t.Context(), db, friday, meta, func(ctx context.Context, tx pgx.Tx) error {
				if err := pay(ctx, tx); err != nil {
					return err
				}
				return step(ctx, tx)
			})
			require.ErrorIs(t, err, claim.ErrTxOwned)
			require.Equal(t, 0, effects(t, db)+claims(t, db))
		})
	}

	// Nothing can bring back what a step committed on the bare connection. It is
	// loud all the same, and the claim that it committed keeps it from a second run.
	t.Run("CommitOnTheBareConnectionIsLoud", func(t *testing.T) {
		t.Parallel()
		db := newDB(t)
		commits := func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Conn().Exec(ctx, `COMMIT; BEGIN`)
			return err
		}
		_, err := claim.Run(t.Context(), db, friday, meta, commits, pay)
		require.ErrorIs(t, err, claim.ErrTxOwned)
		require.Equal(t, 0, effects(t, db), "what would follow does not commit without its claim")
		outcome, err := claim.Run(t.Context(), db, friday, meta, pay)
		require.NoError(t, err)
		require.Equal(t, claim.Duplicate, outcome)
	})

	t.Run("HiddenBehindAnotherStatement", func(t *testing.T) {
		t.Parallel()
		db := newDB(t)
		_, err := claim.Run(t.Context(), db, friday, meta, exec(`INSERT INTO effects (n) VALUES (1); COMMIT`))
		require.ErrorContains(t, err, "cannot insert multiple commands")
		require.Equal(t, 0, effects(t, db)+claims(t, db))
	})
}

func TestEffectsAreCounted(t *testing.T) {
	t.Parallel()
	batch := func(ctx context.Context, tx pgx.Tx, read func(pgx.BatchResults) error) error {
		b := &pgx.Batch{}
		b.Queue(`INSERT INTO effects (n) VALUES (1), (2)`)
		b.Queue(`UPDATE effects SET n = n + 1`)
		b.Queue(`INSERT INTO effects (n) VALUES (9) RETURNING n`)
		results := tx.SendBatch(ctx, b)
		if err := read(results); err != nil {
			return err
		}
		return results.Close()
	}
	for name, c := range map[string]struct {
		step claim.Step
		want int64
	}{
		"Insert":  {exec(`INSERT INTO effects (n) SELECT g FROM generate_series(1, $1) g`, 5), 5},
		"Nothing": {exec(`SELECT 1`), 0},
		"Merge":   {exec(`MERGE INTO effects USING (VALUES (1), (2)) v (n) ON false WHEN NOT MATCHED THEN INSERT (n) VALUES (v.n)`), 2},
		"Copy": {func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.CopyFrom(ctx, pgx.Identifier{"effects"}, []string{"n"}, pgx.CopyFromRows([][]any{{1}, {2}, {3}}))
			return err
		}, 3},
		"Returning": {func(ctx context.Context, tx pgx.Tx) error {
			rows, err := tx.Query(ctx, `INSERT INTO effects (n) VALUES (1), (2) RETURNING n`)
			if err != nil {
				return err
			}
			_, err = pgx.CollectRows(rows, pgx.RowTo[int])
			return err
		}, 2},
		"ReturningOneRow": {func(ctx context.Context, tx pgx.Tx) error {
			var n int
			return tx.QueryRow(ctx, `INSERT INTO effects (n) VALUES (1) RETURNING n`).Scan(&n)
		}, 1},
		"BatchThatNobodyReads": {func(ctx context.Context, tx pgx.Tx) error {
			return batch(ctx, tx, func(pgx.BatchResults) error { return nil })
		}, 5},
		"BatchThatIsRead": {func(ctx context.Context, tx pgx.Tx) error {
			return batch(ctx, tx, func(results pgx.BatchResults) error {
				if _, err := results.Exec(); err != nil {
					return err
				}
				rows, err := results.Query()
				if err != nil {
					return err
				}
				rows.Close()
				var n int
				return results.QueryRow().Scan(&n)
			})
		}, 5},
		"BatchWithACallback": {func(ctx context.Context, tx pgx.Tx) error {
			b := &pgx.Batch{}
			var n int
			b.Queue(`INSERT INTO effects (n) VALUES (4) RETURNING n`).QueryRow(func(row pgx.Row) error { return row.Scan(&n) })
			return tx.SendBatch(ctx, b).Close()
		}, 1},
		"SavepointReleased": {func(ctx context.Context, tx pgx.Tx) error {
			return pgx.BeginFunc(ctx, tx, func(inner pgx.Tx) error { return pay(ctx, inner) })
		}, 1},
		"SavepointRolledBack": {func(ctx context.Context, tx pgx.Tx) error {
			inner, err := tx.Begin(ctx)
			if err != nil {
				return err
			}
			if err := pay(ctx, inner); err != nil {
				return err
			}
			return inner.Rollback(ctx)
		}, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDB(t)
			if name == "Merge" && count(t, db, `SELECT current_setting('server_version_num')::int`) < 150000 {
				t.Skip("MERGE needs PostgreSQL 15")
			}
			_, err := claim.Run(t.Context(), db, friday, meta, c.step, pay) // a finishing step does not count
			require.NoError(t, err)
			record, err := claim.Find(t.Context(), db, friday)
			require.NoError(t, err)
			require.Equal(t, c.want, *record.Effects)
		})
	}
}

func TestNoRowIsStillNoRow(t *testing.T) {
	t.Parallel()
	_, err := claim.Run(t.Context(), newDB(t), friday, meta, func(ctx context.Context, tx pgx.Tx) error {
		var n int
		return tx.QueryRow(ctx, `SELECT n FROM effects`).Scan(&n)
	})
	require.ErrorIs(t, err, pgx.ErrNoRows)
}
