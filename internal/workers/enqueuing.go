package workers

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/periodic"
)

// enqueuing enqueues a task for each slot of a stored schedule. The dedupe key is
// the slot's: a second run of the slot enqueues no second job.
type enqueuing struct{ name, kind, args string }

func (e enqueuing) Name() string { return e.name }

const enqueuingSQL = `SELECT enqueue_job($1, $2, $3)`

func (e enqueuing) Run(ctx context.Context, tx pgx.Tx, slot periodic.Slot) error {
	if _, err := tx.Exec(ctx, enqueuingSQL, e.kind, e.args, slot.Name+"/"+slot.Key); err != nil {
		return fmt.Errorf("enqueue %s: %w", e.kind, err)
	}
	return nil
}
