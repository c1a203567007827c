package workers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
)

// A Request asks for one slot by hand. At most one of Slot and Key is set;
// with neither it is the latest due slot, never a coming one.
type Request struct {
	Slot   time.Time // must be a slot of the schedule
	Key    string    // must be the key of one
	Force  bool      // run it even if it already ran, then under a claim key of its own
	DryRun bool      // say what would happen; write nothing
	Source claim.Source
}

// A Result says what came of a request.
type Result struct {
	Name     string        `json:"name"`
	Slot     time.Time     `json:"slot"`
	Key      string        `json:"key"`
	ClaimKey string        `json:"claim_key"` // the slot's key, or the forced run's own
	Outcome  claim.Outcome `json:"outcome"`   // empty after a dry run of a slot that has not run
	Run      *claim.Record `json:"run"`       // this run or the earlier one; nil if there is none, or it cannot be read
}

// ErrBadSlot means that the request names no slot that may run.
var ErrBadSlot = errors.New("no such slot")

// RunByHand runs one slot at once, through the claim transaction of the timers.
// A slot that already ran is a result, not an error. A forced run is recorded
// under a new key; the slot that the worker sees stays the same, so the ledger
// refuses what has been paid. A person may run what is late or paused; where
// slots may not overlap, it waits for the one at work. It takes no longer than
// the schedule's timeout, the waiting included.
func (r *Runner) RunByHand(ctx context.Context, db periodic.DB, scheduled Scheduled, request Request) (Result, error) {
	ctx, cancel := context.WithTimeout(ctx, scheduled.Timeout)
	defer cancel()
	now, err := periodic.Now(ctx, db)
	if err != nil {
		return Result{}, err
	}
	slot, err := pick(scheduled.Schedule, request, now)
	if err != nil {
		return Result{}, err
	}
	result := Result{Name: slot.Name, Slot: slot.At, Key: slot.Key, ClaimKey: slot.Key}
	result.Run, err = claim.Find(ctx, db, claim.Key{Name: slot.Name, Key: slot.Key})
	if err != nil {
		return result, err
	}
	if result.Run != nil && result.Run.Outcome != string(claim.Ran) {
		result.Run = nil // a skipped slot has not run
	}
	if request.Force && result.Run != nil { // a slot that has not run yet takes its own key, or a timer would run it again
		result.ClaimKey = fmt.Sprintf("%s forced %s", slot.Key, now.UTC().Format("2006-01-02T15:04:05.000000Z"))
		result.Run = nil
	}
	if request.DryRun {
		if result.Run != nil {
			result.Outcome = claim.Duplicate
		}
		return result, nil
	}
	a := &attempt{
		worker: scheduled.worker, slot: slot, key: result.ClaimKey,
		meta: claim.Meta{Source: request.Source}, code: scheduled.Definition, rules: rules{Definition: scheduled.Definition},
	}
	a.admit = a.waitTurn
	result.Outcome, err = r.run(ctx, a)
	for errors.Is(err, claim.ErrHeld) && ctx.Err() == nil { // its holder's end will tell
		result.Outcome, err = r.run(ctx, a)
	}
	if err != nil {
		return result, err
	}
	result.Run, err = claim.Find(ctx, db, claim.Key{Name: slot.Name, Key: result.ClaimKey})
	if err != nil {
		r.Log.WarnContext(ctx, "read the run's record", "name", slot.Name, "key", result.ClaimKey, "error", err)
	}
	return result, nil // whatever the record says, the outcome stands
}

// pick finds the slot that a request means, and refuses one that is not due.
func pick(schedule periodic.Schedule, request Request, now time.Time) (periodic.Slot, error) {
	var slot periodic.Slot
	switch {
	case request.Key != "":
		named, err := schedule.ForKey(request.Key)
		if err != nil {
			return slot, fmt.Errorf("%w: %w", ErrBadSlot, err)
		}
		slot = named
	case !request.Slot.IsZero():
		if !schedule.Includes(request.Slot) {
			return slot, notASlot(schedule, request.Slot)
		}
		slot = schedule.At(request.Slot)
	default:
		latest, ok := schedule.Latest(now)
		if !ok {
			return slot, fmt.Errorf("%w: %q has no slot before %s", ErrBadSlot, schedule.Name, now.UTC().Format(time.RFC3339))
		}
		slot = latest
	}
	if slot.At.After(now) {
		return slot, fmt.Errorf("%w: %s@%s is due at %s, and it is %s: a coming slot is never run early",
			ErrBadSlot, slot.Name, slot.Key, slot.At.Format(time.RFC3339), now.UTC().Format(time.RFC3339))
	}
	return slot, nil
}

// notASlot names the slots around an instant that is none.
func notASlot(schedule periodic.Schedule, at time.Time) error {
	around := "it has none before"
	if before, ok := schedule.Latest(at); ok {
		around = "the one before is " + before.At.Format(time.RFC3339)
	}
	if next := schedule.Next(at); next.IsZero() {
		around += " and none after"
	} else {
		around += ", the one after " + next.Format(time.RFC3339)
	}
	return fmt.Errorf("%w: %s is not a slot of %q: %s", ErrBadSlot, at.UTC().Format(time.RFC3339Nano), schedule.Name, around)
}
