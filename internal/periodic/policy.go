package periodic

import (
	"fmt"
	"time"
)

// A Policy says what becomes of the slots that do not go as planned. Zero
// values are the defaults.
type Policy struct {
	CatchUp     CatchUpRule   // which missed slots are run; All
	MaxLateness time.Duration // a slot later than this is skipped; 7 days
	MaxCount    int           // at most so many missed slots at once, the newest; 100
	Overlap     Overlap       // what a slot does while another of its schedule runs; Allow
	GiveUpAfter time.Duration // how long a failing slot is tried, from its first failure; 24 hours
	Timeout     time.Duration // how long one attempt may take, from 1 second to 24 hours; 1 minute
	MinEffects  int64         // a run that writes fewer rows has failed; 0
}

// CatchUpRule says which of the slots that nobody enqueued in time are run.
// Whichever it is, a slot is not missed before it is OnTime late: a change of
// the leader is no reason to skip.
type CatchUpRule string

// The rules of catch-up. What is not run is recorded as skipped.
const (
	All    CatchUpRule = "all"    // every one, the oldest first, within MaxLateness and MaxCount
	Latest CatchUpRule = "latest" // the newest
	None   CatchUpRule = "none"
)

// Overlap says what a slot does while another slot of its schedule runs.
type Overlap string

// The rules for overlap.
const (
	Allow Overlap = "allow" // run beside it
	Skip  Overlap = "skip"  // do not run, and record it
	Wait  Overlap = "wait"  // run after it, the oldest first
)

// OnTime is how late a slot may be found and still not count as missed.
const OnTime = time.Minute

// DefaultTimeout is for set-based work in one database. What takes much longer
// is better cut into slots or shards: it holds a worker and a transaction.
const DefaultTimeout = time.Minute

const (
	minTimeout = time.Second    // below a millisecond the server would read "no limit"
	maxTimeout = 24 * time.Hour // there is always a limit: a transaction without one holds its claim for ever
)

const (
	defaultMaxLateness = 7 * 24 * time.Hour // a weekly slot is run until the next one is due
	defaultMaxCount    = 100
	defaultGiveUpAfter = 24 * time.Hour // long enough for a person to come to work and look
)

// fill fills in the defaults and refuses what makes no sense.
func (p *Policy) fill() (err error) {
	if p.CatchUp, err = choose(p.CatchUp, All, All, Latest, None); err != nil {
		return fmt.Errorf("catch-up %w", err)
	}
	if p.Overlap, err = choose(p.Overlap, Allow, Allow, Skip, Wait); err != nil {
		return fmt.Errorf("overlap %w", err)
	}
	if p.MaxLateness, err = positive(p.MaxLateness, defaultMaxLateness); err != nil {
		return fmt.Errorf("max lateness %w", err)
	}
	if p.GiveUpAfter, err = positive(p.GiveUpAfter, defaultGiveUpAfter); err != nil {
		return fmt.Errorf("give up after %w", err)
	}
	if p.Timeout == 0 {
		p.Timeout = DefaultTimeout
	}
	if p.Timeout < minTimeout || p.Timeout > maxTimeout {
		return fmt.Errorf("timeout %v: use %v to %v, or leave it out for %v", p.Timeout, minTimeout, maxTimeout, DefaultTimeout)
	}
	if p.MaxCount, err = positive(p.MaxCount, defaultMaxCount); err != nil {
		return fmt.Errorf("max count %w", err)
	}
	if p.MinEffects < 0 {
		return fmt.Errorf("min effects %d: use 0 or more", p.MinEffects)
	}
	return nil
}

func positive[T int | time.Duration](value, byDefault T) (T, error) {
	if value < 0 {
		return value, fmt.Errorf("%v: use more than 0", value)
	}
	if value == 0 {
		return byDefault, nil
	}
	return value, nil
}
