package periodic

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"
)

// stored is a schedule as the database has it: its definition, which may be
// newer or older than the one in this binary, and how far it has come.
type stored struct {
	Definition
	Action

	name            string
	source          Source
	adoptedAt       *time.Time
	definedAt       time.Time
	enqueuedThrough time.Time
	resolvedThrough time.Time
	removedAt       *time.Time
	pausedAt        *time.Time
	now             time.Time // the database's clock, after the row was locked
}

const lockSQL = storedSQL + `
FROM worker_schedules WHERE name = $1 FOR UPDATE`

const lockIfFreeSQL = storedSQL + `
FROM worker_schedules WHERE name = $1 FOR UPDATE SKIP LOCKED`

const storedSQL = `
SELECT ` + DefinitionColumns + `, ` + ActionColumns + `,
       name, source, adopted_at, defined_at, enqueued_through, resolved_through, removed_at, paused_at, clock_timestamp()`

func (s *stored) into() []any {
	return slices.Concat(s.Definition.Targets(), s.Action.Targets(), []any{&s.name, &s.source, &s.adoptedAt,
		&s.definedAt, &s.enqueuedThrough, &s.resolvedThrough, &s.removedAt, &s.pausedAt, &s.now})
}

// lock reads a schedule and keeps it from everybody else until tx ends.
func lock(ctx context.Context, tx pgx.Tx, name string) (*stored, error) {
	return read(ctx, tx, lockSQL, name)
}

// lockIfFree returns nil if somebody else has the schedule, or if there is none.
func lockIfFree(ctx context.Context, tx pgx.Tx, name string) (*stored, error) {
	row, err := read(ctx, tx, lockIfFreeSQL, name)
	if errors.Is(err, pgx.ErrNoRows) {
		return nil, nil //nolint:nilnil // absence is an answer here, not an error
	}
	return row, err
}

func read(ctx context.Context, tx pgx.Tx, sql, name string) (*stored, error) {
	var s stored
	err := tx.QueryRow(ctx, sql, name).Scan(s.into()...)
	if err != nil {
		return nil, fmt.Errorf("lock schedule %q: %w", name, err)
	}
	return &s, nil
}
