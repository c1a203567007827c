package claim

import (
	"context"
	"encoding/json"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// A Record is one row of worker_runs as an operator reads it. Pointers are nil
// where the row has NULL: a claim made by a plain INSERT tells less.
type Record struct {
	Name     string     `json:"name"`
	Key      string     `json:"key"`
	Slot     *time.Time `json:"slot"`
	RanAt    time.Time  `json:"ran_at"`
	Lateness *float64   `json:"lateness_seconds"` // from the slot to the claim
	Outcome  string     `json:"outcome"`
	Source   Source     `json:"source"`
	JobID    *int64     `json:"job_id"`
	Attempt  *int       `json:"attempt"`
	Effects  *int64     `json:"effects"`
	Replica  *string    `json:"replica"`

	Output json.RawMessage `json:"output,omitempty"` // see [Output]
}

// Querier reads: a pool, a connection or a transaction.
type Querier interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
}

// columnsSQL selects a Record; what follows it says which.
const columnsSQL = `
SELECT run.name, run.key, run.slot_at, run.ran_at, extract(epoch FROM run.ran_at - run.slot_at)::float8,
       run.outcome, run.source, run.job_id, run.attempt, run.effects, run.replica, run.output`

const findSQL = columnsSQL + `
FROM worker_runs run WHERE name = $1 AND key = $2`

// Find returns the record of a committed claim, or nil if there is none.
func Find(ctx context.Context, db Querier, key Key) (*Record, error) {
	records, err := records(ctx, db, findSQL, key.Name, key.Key)
	if err != nil {
		return nil, fmt.Errorf("find claim %s: %w", key, err)
	}
	if len(records) == 0 {
		return nil, nil //nolint:nilnil // absence is an answer here, not an error
	}
	return &records[0], nil
}

const historySQL = columnsSQL + `
FROM worker_runs run
WHERE ($1 = '' OR name = $1) AND ran_at >= $2
ORDER BY ran_at DESC, name, key
LIMIT $3`

// History returns the newest records first: those of name, or of every name if
// it is empty, claimed at or after since.
func History(ctx context.Context, db Querier, name string, since time.Time, limit int) ([]Record, error) {
	records, err := records(ctx, db, historySQL, name, since, limit)
	if err != nil {
		return nil, fmt.Errorf("read history: %w", err)
	}
	return records, nil
}

const betweenSQL = columnsSQL + `
FROM worker_runs run
WHERE name = $1 AND (slot_at > $2 AND slot_at <= $3 OR slot_at IS NULL AND ran_at > $2)`

// Between returns the records of name whose slot is in (from, to]. A claim made
// by a plain INSERT has no slot, but its key may name one: those claimed after
// from are returned too.
func Between(ctx context.Context, db Querier, name string, from, to time.Time) ([]Record, error) {
	records, err := records(ctx, db, betweenSQL, name, from, to)
	if err != nil {
		return nil, fmt.Errorf("read claims of %q: %w", name, err)
	}
	return records, nil
}

const latestSQL = columnsSQL + `
FROM unnest($1::text[]) AS wanted (name)
CROSS JOIN LATERAL (
    SELECT * FROM worker_runs
    WHERE worker_runs.name = wanted.name AND slot_at IS NOT NULL
    ORDER BY slot_at DESC LIMIT 1
) run`

// Latest returns, for each of the names that has one, the record of its latest
// slot.
func Latest(ctx context.Context, db Querier, names []string) (map[string]Record, error) {
	records, err := records(ctx, db, latestSQL, names)
	if err != nil {
		return nil, fmt.Errorf("read latest runs: %w", err)
	}
	latest := make(map[string]Record, len(records))
	for _, record := range records {
		latest[record.Name] = record
	}
	return latest, nil
}

func records(ctx context.Context, db Querier, sql string, args ...any) ([]Record, error) {
	rows, err := db.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[Record])
}
