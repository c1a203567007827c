package periodic

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/claim"
)

// A step is a stored schedule on its way from one slot to the next.
type step struct {
	*stored

	schedule Schedule
	open     []string // the keys of earlier slots that may not be resolved yet
	due      []Slot
	plain    bool // there is nothing to decide
}

// stepOf looks at a schedule, and no further than there is something to decide.
func stepOf(s *stored) step {
	step := step{stored: s}
	schedule, err := Parse(s.name, s.Definition)
	if err != nil || s.pausedAt != nil {
		return step
	}
	step.schedule = schedule
	for slot := range schedule.Slots(s.resolvedThrough, s.now) {
		if slot.At.After(s.enqueuedThrough) {
			step.due = append(step.due, slot)
		} else {
			step.open = append(step.open, slot.Key)
		}
		if len(step.due) > 1 || len(step.open) > stride {
			return step
		}
	}
	step.plain = len(step.due) == 0 || s.now.Sub(step.due[0].At) < min(OnTime, s.MaxLateness)
	return step
}

// isPlain reports whether there is nothing to decide about a schedule, now that
// it is known which of its slots are claimed.
func (c *CatchUp) isPlain(ctx context.Context, tx pgx.Tx, s step, claimed map[claim.Key]bool) (bool, error) {
	if !s.plain {
		return false, nil
	}
	for _, key := range s.open {
		if !claimed[claim.Key{Name: s.name, Key: key}] {
			return false, nil
		}
	}
	if s.adoptedAt != nil {
		return true, nil
	}
	_, err := c.adopt(ctx, tx, s.stored)
	if _, refused := errors.AsType[*refusal](err); refused {
		return false, nil
	}
	return err == nil, err
}
