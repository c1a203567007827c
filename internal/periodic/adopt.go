package periodic

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// visitStored resolves the slots of one stored schedule, and adopts or refuses
// a definition that no replica has seen yet.
func (c *CatchUp) visitStored(ctx context.Context, tx pgx.Tx, row *stored) (Pass, error) {
	schedule, err := c.adopt(ctx, tx, row)
	if refused, ok := errors.AsType[*refusal](err); ok {
		return Pass{Schedules: 1, Stored: 1}, c.refuse(ctx, tx, row.name, refused)
	}
	if err != nil {
		return Pass{}, err
	}
	pass, err := c.resolve(ctx, tx, Entry{Schedule: schedule, Args: StoredJob}, row)
	pass.Stored, pass.Next = pass.Schedules, time.Time{} // the next pass asks for its slots anyway
	return pass, err
}

// A refusal is what is wrong with a stored schedule, for whoever wrote it.
type refusal struct{ error }

func (r *refusal) Unwrap() error { return r.error }

// adopt reads a definition as strictly as one of the code. Any error that is
// no refusal may pass.
func (c *CatchUp) adopt(ctx context.Context, tx pgx.Tx, row *stored) (Schedule, error) {
	schedule, err := Parse(row.name, row.Definition)
	if err == nil && row.adoptedAt == nil {
		err = schedule.CheckKeys(row.now)
	}
	if err != nil {
		return schedule, &refusal{err}
	}
	if c.Vet == nil || row.adoptedAt != nil {
		return schedule, nil
	}
	return schedule, c.vet(ctx, tx, row)
}

// vet asks in a savepoint: a statement that the server refuses would otherwise
// end the transaction of the refusal.
func (c *CatchUp) vet(ctx context.Context, tx pgx.Tx, row *stored) error {
	inner, err := tx.Begin(ctx)
	if err != nil {
		return fmt.Errorf("vet: %w", err)
	}
	wrong, err := c.Vet(ctx, inner, row.Action)
	if err := errors.Join(err, inner.Rollback(ctx)); err != nil {
		return fmt.Errorf("vet: %w", err)
	}
	if wrong != "" {
		return &refusal{fmt.Errorf("schedule %q: %s", row.name, wrong)}
	}
	return nil
}

const refuseSQL = `UPDATE worker_schedules SET note = $2, next_slot = NULL WHERE name = $1`

// refuse leaves the reason with the schedule, and looks at it no more until it
// is changed: whoever wrote it sees why, and nobody else's slots wait for it.
func (c *CatchUp) refuse(ctx context.Context, tx pgx.Tx, name string, reason error) error {
	if _, err := tx.Exec(ctx, refuseSQL, name, reason.Error()); err != nil {
		return fmt.Errorf("refuse: %w", err)
	}
	c.Log.WarnContext(ctx, "stored schedule refused: change or remove it", "name", name, "reason", reason)
	return nil
}
