package workers

import (
	"context"
	"log/slog"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
)

// A Runner runs slots on behalf of one replica. Whoever triggers a slot, the
// timer or a person, it goes through the same claim transaction here.
type Runner struct {
	DB      claim.Beginner
	Replica string
	Log     *slog.Logger
}

// run runs one slot under a claim key, which is the slot's own key unless
// somebody forces a second run. It writes one log line for each slot.
func (r *Runner) run(ctx context.Context, worker Worker, slot periodic.Slot, key string, meta claim.Meta, finish ...claim.Step) (claim.Outcome, error) {
	meta.Replica, meta.SlotAt = r.Replica, slot.At
	work := func(ctx context.Context, tx pgx.Tx) error { return worker.Run(ctx, tx, slot) }

	outcome, err := claim.Run(ctx, r.DB, claim.Key{Name: slot.Name, Key: key}, meta, work, finish...)

	log := r.Log.With("name", slot.Name, "key", key, "slot", slot.At, "source", meta.Source, "attempt", meta.Attempt)
	switch {
	case err != nil:
		log.WarnContext(ctx, "slot failed", "error", err)
	case outcome == claim.Duplicate:
		log.DebugContext(ctx, "slot already ran")
	default:
		log.InfoContext(ctx, "slot ran")
	}
	return outcome, err
}
