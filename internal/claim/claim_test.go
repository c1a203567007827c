package claim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

var (
	friday = claim.Key{Name: "payday", Key: "2026-W22"}
	slotAt = time.Date(2026, 5, 30, 0, 0, 0, 0, time.UTC)
	meta   = claim.Meta{SlotAt: slotAt, Source: claim.Schedule, JobID: 7, Attempt: 2, Replica: "a-1"}
)

// newDB has a table without any unique key, so that a double run would show.
func newDB(t *testing.T) *pgxpool.Pool {
	t.Helper()
	db := postgrestest.New(t)
	_, err := db.Exec(t.Context(), `CREATE TABLE effects (id bigint GENERATED ALWAYS AS IDENTITY, n integer)`)
	require.NoError(t, err)
	return db
}

// open returns another pool on the same database, with settings of its own.
func open(t *testing.T, config *pgxpool.Config) *pgxpool.Pool {
	t.Helper()
	db, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(db.Close)
	return db
}

// pay writes one effect.
func pay(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `INSERT INTO effects (n) VALUES ($1)`, 1)
	return err
}

func count(t *testing.T, db *pgxpool.Pool, sql string) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRow(t.Context(), sql).Scan(&n))
	return n
}

func effects(t *testing.T, db *pgxpool.Pool) int {
	t.Helper()
	return count(t, db, `SELECT count(*) FROM effects`)
}

func claims(t *testing.T, db *pgxpool.Pool) int {
	t.Helper()
	return count(t, db, `SELECT count(*) FROM worker_runs`)
}

func TestRun(t *testing.T) {
	t.Parallel()

	t.Run("TellsTheStoryInTheRow", func(t *testing.T) {
		t.Parallel()
		db := newDB(t)
		outcome, err := claim.Run(t.Context(), db, friday, meta, pay)
		require.NoError(t, err)
		require.Equal(t, claim.Ran, outcome)
		require.Equal(t, 1, effects(t, db))

		record, err := claim.Find(t.Context(), db, friday)
		require.NoError(t, err)
		require.Equal(t, slotAt, record.Slot.UTC())
		require.Equal(t, "ran", record.Outcome)
		require.Equal(t, claim.Schedule, record.Source)
		require.EqualValues(t, 7, *record.JobID)
		require.Equal(t, 2, *record.Attempt)
		require.EqualValues(t, 1, *record.Effects)
		require.Equal(t, "a-1", *record.Replica)
		require.InDelta(t, record.RanAt.Sub(slotAt).Seconds(), *record.Lateness, 0.001)
	})

	t.Run("SecondRunIsADuplicateAndDoesNothing", func(t *testing.T) { // A2: however late the second comes
		t.Parallel()
		db := newDB(t)
		for _, want := range []claim.Outcome{claim.Ran, claim.Duplicate, claim.Duplicate} {
			outcome, err := claim.Run(t.Context(), db, friday, meta, pay)
			require.NoError(t, err)
			require.Equal(t, want, outcome)
		}
		require.Equal(t, 1, effects(t, db))
	})

	t.Run("FailedStepFreesTheKey", func(t *testing.T) { // E7
		t.Parallel()
		db := newDB(t)
		broken := errors.New(`post thread: section "general" not found`)
		_, err := claim.Run(t.Context(), db, friday, meta, func(ctx context.Context, tx pgx.Tx) error {
			return errors.Join(pay(ctx, tx), broken)
		})
		require.ErrorIs(t, err, broken)
		require.ErrorContains(t, err, `claim payday@2026-W22: post thread: section "general" not found`)
		require.Equal(t, 0, effects(t, db))
		require.Equal(t, 0, claims(t, db))

		outcome, err := claim.Run(t.Context(), db, friday, meta, pay)
		require.NoError(t, err)
		require.Equal(t, claim.Ran, outcome)
		require.Equal(t, 1, effects(t, db))
	})

	t.Run("FailedFinishingStepFreesTheKey", func(t *testing.T) {
		t.Parallel()
		db := newDB(t)
		_, err := claim.Run(t.Context(), db, friday, meta, pay, func(context.Context, pgx.Tx) error { return errors.New("not ours") })
		require.ErrorContains(t, err, "not ours")
		require.Equal(t, 0, effects(t, db)+claims(t, db))
	})

	t.Run("CancelledContextFreesTheKey", func(t *testing.T) {
		t.Parallel()
		db := newDB(t)
		ctx, cancel := context.WithCancel(t.Context())
		_, err := claim.Run(ctx, db, friday, meta, func(ctx context.Context, tx pgx.Tx) error {
			cancel()
			return pay(ctx, tx)
		})
		require.ErrorIs(t, err, context.Canceled)
		require.Equal(t, 0, effects(t, db)+claims(t, db))
	})

	t.Run("IsDurableWhateverTheWorkSays", func(t *testing.T) {
		t.Parallel()
		var durable string
		off := func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `SET LOCAL synchronous_commit = off`)
			return err
		}
		_, err := claim.Run(t.Context(), newDB(t), friday, meta, off, func(ctx context.Context, tx pgx.Tx) error {
			return tx.QueryRow(ctx, `SELECT current_setting('synchronous_commit')`).Scan(&durable)
		})
		require.NoError(t, err)
		require.Equal(t, "on", durable)
	})

	t.Run("IsDurableWhateverTheSessionSays", func(t *testing.T) {
		t.Parallel()
		db := newDB(t)
		config := db.Config()
		config.ConnConfig.RuntimeParams["synchronous_commit"] = "off"
		config.ConnConfig.RuntimeParams["default_transaction_isolation"] = "serializable"
		careless := open(t, config)

		var durable, isolation string
		_, err := claim.Run(t.Context(), careless, friday, meta, func(ctx context.Context, tx pgx.Tx) error {
			return tx.QueryRow(ctx, `SELECT current_setting('synchronous_commit'), current_setting('transaction_isolation')`).Scan(&durable, &isolation)
		})
		require.NoError(t, err)
		require.Equal(t, "on", durable)
		require.Equal(t, "read committed", isolation)
	})
}

// blocked polls until a session waits for a lock.
func blocked(t *testing.T, db *pgxpool.Pool) {
	t.Helper()
	require.Eventually(t, func() bool {
		return count(t, db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`) == 1
	}, 10*time.Second, 5*time.Millisecond)
}

func TestPeerHoldsTheClaim(t *testing.T) {
	t.Parallel()

	for name, end := range map[string]struct {
		of   func(pgx.Tx, context.Context) error
		want claim.Outcome
	}{
		"CommitMakesTheWaiterADuplicate": {pgx.Tx.Commit, claim.Duplicate},
		"RollbackHandsTheClaimToTheNext": {pgx.Tx.Rollback, claim.Ran},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDB(t)
			peer, err := db.Begin(t.Context())
			require.NoError(t, err)
			mine, err := claim.Take(t.Context(), peer, friday, meta)
			require.NoError(t, err)
			require.True(t, mine)

			var outcome claim.Outcome
			done := make(chan error)
			go func() {
				var err error
				outcome, err = claim.Run(t.Context(), db, friday, meta, pay)
				done <- err
			}()
			blocked(t, db)
			require.NoError(t, end.of(peer, t.Context()))
			require.NoError(t, <-done)
			require.Equal(t, end.want, outcome)
		})
	}

	t.Run("AboveReadCommittedALostClaimIsAnError", func(t *testing.T) { // E4
		t.Parallel()
		db := newDB(t)
		late, err := db.BeginTx(t.Context(), pgx.TxOptions{IsoLevel: pgx.RepeatableRead})
		require.NoError(t, err)
		defer func() { _ = late.Rollback(t.Context()) }()
		_, err = late.Exec(t.Context(), `SELECT 1 FROM effects`) // takes the snapshot
		require.NoError(t, err)
		_, err = claim.Run(t.Context(), db, friday, meta, pay)
		require.NoError(t, err)

		_, err = claim.Take(t.Context(), late, friday, meta)
		var refused *pgconn.PgError
		require.ErrorAs(t, err, &refused)
		require.Equal(t, pgerrcode.SerializationFailure, refused.Code)
	})
}

// TestManyAtOnce is A4: however many believe that the slot is theirs, one runs it.
func TestManyAtOnce(t *testing.T) {
	t.Parallel()
	db := newDB(t)
	const callers = 12
	outcomes := make(chan claim.Outcome, callers)
	for range callers {
		go func() {
			outcome, err := claim.Run(t.Context(), db, friday, meta, pay)
			if err != nil {
				outcome = claim.Outcome(err.Error())
			}
			outcomes <- outcome
		}()
	}
	seen := map[claim.Outcome]int{}
	for range callers {
		seen[<-outcomes]++
	}
	require.Equal(t, map[claim.Outcome]int{claim.Ran: 1, claim.Duplicate: callers - 1}, seen)
	require.Equal(t, 1, effects(t, db))
}

// TestForeignClaimCounts: the plain INSERT of the other services is a claim.
func TestForeignClaimCounts(t *testing.T) {
	t.Parallel()
	db := newDB(t)
	_, err := db.Exec(t.Context(), `INSERT INTO worker_runs (name, key) VALUES ($1, $2) ON CONFLICT DO NOTHING`, friday.Name, friday.Key)
	require.NoError(t, err)

	outcome, err := claim.Run(t.Context(), db, friday, meta, pay)
	require.NoError(t, err)
	require.Equal(t, claim.Duplicate, outcome)

	record, err := claim.Find(t.Context(), db, friday)
	require.NoError(t, err)
	require.Equal(t, claim.SQL, record.Source)
	require.Nil(t, record.Slot)
	require.Nil(t, record.Effects)
}

// TestHistory reads what ran: the newest first, the latest slot by name.
func TestHistory(t *testing.T) {
	t.Parallel()
	db := newDB(t)
	for i, key := range []string{"2026-W20", "2026-W21", "2026-W22"} {
		meta := meta
		meta.SlotAt = slotAt.AddDate(0, 0, 7*(i-2))
		_, err := claim.Run(t.Context(), db, claim.Key{Name: "payday", Key: key}, meta, pay)
		require.NoError(t, err)
	}
	_, err := claim.Run(t.Context(), db, claim.Key{Name: "digest", Key: "2026-W22"}, meta, pay)
	require.NoError(t, err)

	keys := func(records []claim.Record) (keys []string) {
		for _, record := range records {
			keys = append(keys, record.Name+"@"+record.Key)
		}
		return keys
	}
	records, err := claim.History(t.Context(), db, "", time.Now().Add(-time.Hour), 3)
	require.NoError(t, err)
	require.Equal(t, []string{"digest@2026-W22", "payday@2026-W22", "payday@2026-W21"}, keys(records))
	records, err = claim.History(t.Context(), db, "payday", time.Now().Add(time.Hour), 3)
	require.NoError(t, err)
	require.Empty(t, records)

	latest, err := claim.Latest(t.Context(), db, []string{"payday", "never"})
	require.NoError(t, err)
	require.Len(t, latest, 1)
	require.Equal(t, "2026-W22", latest["payday"].Key)

	none, err := claim.Find(t.Context(), db, claim.Key{Name: "payday", Key: "2026-W23"})
	require.NoError(t, err)
	require.Nil(t, none)
}
