package workers

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river/rivertype"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/delivery"
	"github.com/ranura/ranura/internal/periodic"
)

// A Runner runs slots on behalf of one replica. Whoever triggers a slot, the
// timer or a person, it goes through the same claim transaction here.
type Runner struct {
	DB        *pgxpool.Pool
	Replica   string
	Endpoints delivery.Endpoints
	Log       *slog.Logger
	Metrics   *Metrics // or nil
}

// An attempt is one try to run a slot.
type attempt struct {
	worker Worker
	slot   periodic.Slot
	key    string // the claim's key: the slot's, unless somebody forces a second run
	meta   claim.Meta
	series string        // the name that it counts under, if that is not the slot's
	late   time.Duration // behind its slot, by the database's clock, when the attempt began; 0 if somebody asked for it
	code   periodic.Definition
	rules  rules      // until they are read, those of the code
	admit  claim.Step // decides, under the claim and before the work, what the rules make of the slot
	finish []claim.Step
}

// run makes an attempt and writes its one line to the log.
func (r *Runner) run(ctx context.Context, a *attempt) (claim.Outcome, error) {
	a.meta.Replica, a.meta.SlotAt = r.Replica, a.slot.At
	outcome, err := r.try(ctx, a)
	r.Metrics.attempted(ctx, a, outcome, err)

	log := r.Log.With("name", a.slot.Name, "key", a.key, "slot", a.slot.At, "source", a.meta.Source, "attempt", a.meta.Attempt, "replica", r.Replica)
	if panicked, ok := errors.AsType[*claim.PanicError](err); ok {
		log = log.With("stack", panicked.Stack)
	}
	switch {
	case waits(err):
		log.DebugContext(ctx, "slot waits", "reason", err)
	case err != nil:
		log.WarnContext(ctx, "slot failed", "error", err)
	case outcome == claim.Duplicate:
		log.DebugContext(ctx, "slot already ran")
	case outcome == claim.Ran:
		log.InfoContext(ctx, "slot ran")
	default:
		log.InfoContext(ctx, "slot skipped", "outcome", outcome)
	}
	return outcome, err
}

func (r *Runner) try(ctx context.Context, a *attempt) (claim.Outcome, error) {
	if err := a.rules.read(ctx, r.DB, a.slot.Name); err != nil {
		return "", err
	}
	key := claim.Key{Name: a.slot.Name, Key: a.key}
	if caller, ok := a.worker.(Caller); ok {
		request := func() delivery.Request { return caller.Request(a.slot) }
		return r.call(ctx, call{a.slot, a.admit, request}, key, a.meta, a.perform, a.finish...)
	}
	return claim.Run(ctx, r.DB, key, a.meta, a.work, a.finish...)
}

func (a *attempt) work(ctx context.Context, tx pgx.Tx) error {
	if err := a.admit(ctx, tx); err != nil {
		return err
	}
	return a.perform(ctx, tx)
}

// perform does the work of a slot that is admitted.
func (a *attempt) perform(ctx context.Context, tx pgx.Tx) error {
	if err := a.worker.Run(ctx, tx, a.slot); err != nil {
		return err
	}
	if written := claim.Written(tx); written < a.rules.MinEffects {
		return fmt.Errorf("wrote %d rows, at least %d are expected", written, a.rules.MinEffects)
	}
	return nil
}

// waits reports whether an attempt did not fail but came too soon.
func waits(err error) bool {
	_, snoozed := errors.AsType[*rivertype.JobSnoozeError](err)
	return snoozed || errors.Is(err, claim.ErrHeld)
}
