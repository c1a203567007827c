package periodic

import (
	"context"
	"math/rand/v2"
	"time"
)

const (
	// patience is how long after its slot a timer may still be the first. It is
	// what a slot is late at most when the leader is killed.
	patience = 2 * time.Second

	// spread keeps replicas from passing at the same instant.
	spread = 500 * time.Millisecond

	// eagerFor is how long a leader's orderly departure may leave the timers
	// without a hand; meanwhile every slot is looked after at once.
	eagerFor = 20 * time.Second
	eager    = 100 * time.Millisecond

	// longest is the longest sleep: what nobody announced is found by then.
	longest = 30 * time.Second

	// passTimeout ends a pass that waits for an answer which does not come. The
	// next one goes on where it was.
	passTimeout = 2 * time.Minute

	// LongestRound is the longest from one pass to the next.
	LongestRound = longest + passTimeout
)

// Channel is the Postgres channel on which replicas announce a [Wake].
const Channel = "ranura_schedules"

// A Wake is a reason to pass early.
type Wake string

// The reasons to pass early.
const (
	Changed Wake = "changed" // a schedule is not what it was
	Leaving Wake = "leaving" // a replica stops, perhaps the leader
)

// Run passes until ctx ends: at once, at each slot of a stored schedule and a
// moment after each of the code's, when it is woken, and at least every 30 s. A pass that fails is logged and repeated.
func (c *CatchUp) Run(ctx context.Context, wake <-chan Wake) {
	c.followed = make(map[string]Schedule, len(c.Entries))
	for _, entry := range c.Entries {
		c.followed[entry.Schedule.Name] = entry.Schedule
	}
	var changed, eagerUntil time.Time
	hurry := true // what was due before this replica was is no timer's any more
	for ctx.Err() == nil {
		c.patience = patience
		if hurry {
			c.patience = 0
		}
		if c.Round != nil {
			c.Round()
		}
		pass, err := c.round(ctx, &changed)
		hurry = pass.Now.Before(eagerUntil)
		c.report(ctx, pass, err)
		select {
		case <-ctx.Done():
		case <-time.After(pause(pass, err, hurry)):
		case reason := <-wake:
			if reason == Leaving {
				eagerUntil, hurry = pass.Now.Add(eagerFor), true
			}
		}
	}
}

// round makes a pass and follows what it says has changed since the last time.
func (c *CatchUp) round(ctx context.Context, changed *time.Time) (Pass, error) {
	ctx, cancel := context.WithTimeout(ctx, passTimeout)
	defer cancel()
	pass, err := c.RunOnce(ctx)
	if err == nil && pass.Changed.After(*changed) {
		if err = c.follow(ctx); err == nil {
			*changed = pass.Changed
		}
	}
	return pass, err
}

// pause is how long to sleep after a pass. No timer has the slots of a stored
// schedule, so the pass for them comes at the slot. A pass that had such
// schedules in hand took its time, in which others may have come due: it is
// followed by another at once.
func pause(pass Pass, err error, hurry bool) time.Duration {
	switch {
	case err != nil:
		return time.Second
	case pass.Stored > 0:
		return 0
	}
	until := longest
	if !pass.Next.IsZero() {
		after := eager
		if !hurry {
			after = patience + rand.N(spread) //nolint:gosec // only to spread the replicas
		}
		until = min(until, pass.Next.Sub(pass.Now)+after)
	}
	if !pass.NextStored.IsZero() {
		until = min(until, pass.NextStored.Sub(pass.Now))
	}
	return until
}

func (c *CatchUp) report(ctx context.Context, pass Pass, err error) {
	switch {
	case ctx.Err() != nil:
	case err != nil:
		c.Log.WarnContext(ctx, "catch-up failed: trying again", "error", err)
	case pass.Enqueued > 0 || pass.Skipped > 0:
		c.Log.InfoContext(ctx, "caught up", "enqueued", pass.Enqueued, "skipped", pass.Skipped)
	}
}
