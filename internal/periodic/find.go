package periodic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
)

// A Kept is a stored schedule, read.
type Kept struct {
	Schedule
	Action

	Since time.Time // from when on it owes its slots
}

// ErrNotStored means that there is no stored schedule of that name.
var ErrNotStored = errors.New("no such stored schedule")

const findStoredSQL = `
SELECT ` + DefinitionColumns + `, ` + ActionColumns + `, known_since
FROM worker_schedules WHERE name = $1 AND source = 'stored'`

// FindStored reads a stored schedule. One that the replicas refuse is an error,
// with the reason.
func FindStored(ctx context.Context, db DB, name string) (Kept, error) {
	rows, err := db.Query(ctx, findStoredSQL, name)
	if err != nil {
		return Kept{}, fmt.Errorf("read schedule %q: %w", name, err)
	}
	kept, err := pgx.CollectExactlyOneRow(rows, func(row pgx.CollectableRow) (k Kept, err error) {
		err = row.Scan(slices.Concat(k.Definition.Targets(), k.Action.Targets(), []any{&k.Since})...)
		return k, err
	})
	if errors.Is(err, pgx.ErrNoRows) {
		return Kept{}, ErrNotStored
	}
	if err != nil {
		return Kept{}, fmt.Errorf("read schedule %q: %w", name, err)
	}
	kept.Schedule, err = Parse(name, kept.Definition)
	return kept, err
}

const actionSQL = `SELECT ` + ActionColumns + ` FROM worker_schedules WHERE name = $1`

// ActionOf reads what a schedule runs, whether or not the replicas refuse it. It
// is empty for one of the code.
func ActionOf(ctx context.Context, db DB, name string) (action Action, err error) {
	rows, err := db.Query(ctx, actionSQL, name)
	if err == nil {
		_, err = pgx.ForEachRow(rows, action.Targets(), func() error { return nil })
	}
	if err != nil {
		return action, fmt.Errorf("read what %q runs: %w", name, err)
	}
	return action, nil
}

// StoredJob is what carries a slot of any stored schedule to River.
func StoredJob(slot Slot) river.JobArgs {
	return StoredArgs{Name: slot.Name, Key: slot.Key, Slot: slot.At}
}
