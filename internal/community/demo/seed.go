// Package demo fills an empty database with a community to look at: some 200
// members and a month of their activity before one weekly close.
package demo

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/community"
)

// ErrNotEmpty means that there are members already. Nothing was written.
var ErrNotEmpty = errors.New("the community is not empty")

// Seed writes the demo community through tx and returns the places that the
// leaderboard must give for the week that ends at slot. They are computed from
// the generated rows, not from the database, so they can judge its answer. Two
// of them have the same points; the one with the greater id got there first.
//
// The same slot always gives the same community. slot's location is the
// community's zone. Two calls at once: one fails on a unique key.
func Seed(ctx context.Context, tx pgx.Tx, slot time.Time) ([]community.Place, error) {
	if err := refuseIfAnybody(ctx, tx); err != nil {
		return nil, fmt.Errorf("seed demo: %w", err)
	}
	town := generate(slot)
	for _, t := range town.tables() {
		if _, err := tx.CopyFrom(ctx, pgx.Identifier{t.name}, t.columns, pgx.CopyFromRows(t.rows)); err != nil {
			return nil, fmt.Errorf("seed demo: copy %s: %w", t.name, err)
		}
	}
	if _, err := tx.Exec(ctx, continueSequencesSQL); err != nil {
		return nil, fmt.Errorf("seed demo: continue the sequences: %w", err)
	}
	return town.places(slot), nil
}

const anybodySQL = `SELECT EXISTS (SELECT FROM members)`

func refuseIfAnybody(ctx context.Context, tx pgx.Tx) error {
	var anybody bool
	if err := tx.QueryRow(ctx, anybodySQL).Scan(&anybody); err != nil {
		return fmt.Errorf("look for members: %w", err)
	}
	if anybody {
		return ErrNotEmpty
	}
	return nil
}

// Rows were copied with their ids; whoever inserts next must not meet them.
const continueSequencesSQL = `
SELECT setval(pg_get_serial_sequence('members', 'id'), (SELECT max(id) FROM members)),
       setval(pg_get_serial_sequence('sections', 'id'), (SELECT max(id) FROM sections)),
       setval(pg_get_serial_sequence('squads', 'id'), (SELECT max(id) FROM squads)),
       setval(pg_get_serial_sequence('threads', 'id'), (SELECT max(id) FROM threads))`
