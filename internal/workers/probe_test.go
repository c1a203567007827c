package workers_test

import (
	"context"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/postgres/postgrestest"
	"github.com/ranura/ranura/internal/workers"
)

// probe writes one effect, into a table without any unique key so that a
// double run would show, and then does what the test asks.
type probe struct {
	then func(ctx context.Context, tx pgx.Tx, slot periodic.Slot) error
}

func (probe) Name() string { return "probe" }

func (p probe) Run(ctx context.Context, tx pgx.Tx, slot periodic.Slot) error {
	if _, err := tx.Exec(ctx, `INSERT INTO effects (key) VALUES ($1)`, slot.Key); err != nil {
		return err
	}
	if p.then == nil {
		return nil
	}
	return p.then(ctx, tx, slot)
}

// friday is the slot of most tests: Friday 30 May 2025, 18:00 in Mexico City.
// It is a year before the incident's, so that it is past on any clock.
var friday = time.Date(2025, time.May, 31, 0, 0, 0, 0, time.UTC)

const fridayKey = "2025-05-31T00:00:00Z"

func newEffects(t *testing.T) *pgxpool.Pool {
	t.Helper()
	db := postgrestest.New(t)
	write(t, db, `CREATE TABLE effects (key text)`)
	return db
}

func count(t *testing.T, db *pgxpool.Pool, sql string) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRow(t.Context(), sql).Scan(&n))
	return n
}

// requireTotals compares the effects and the claims that are committed.
func requireTotals(t *testing.T, db *pgxpool.Pool, effects, claims int) {
	t.Helper()
	require.Equal(t, effects, count(t, db, `SELECT count(*) FROM effects`), "effects")
	require.Equal(t, claims, count(t, db, `SELECT count(*) FROM worker_runs`), "claims")
}

func newRegistry(t *testing.T, entries ...workers.Entry) *workers.Registry {
	t.Helper()
	registry, err := workers.NewRegistry(entries, friday)
	require.NoError(t, err)
	return registry
}

func onQuarters(worker probe) workers.Entry { return onQuartersWith(worker, periodic.Policy{}) }

// onQuartersWith lets slots be years late, as friday is, unless told otherwise.
func onQuartersWith(worker probe, policy periodic.Policy) workers.Entry {
	return workers.On(worker, quarters(policy))
}

func quarters(policy periodic.Policy) periodic.Definition {
	if policy.MaxLateness == 0 {
		policy.MaxLateness = 100 * 365 * 24 * time.Hour
	}
	return periodic.Definition{Cron: "*/15 * * * *", Zone: "UTC", Policy: policy}
}

func newRunner(db *pgxpool.Pool) *workers.Runner {
	return &workers.Runner{DB: db, Replica: "a-1", Log: slog.New(slog.DiscardHandler)}
}
