package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"
	"time"
)

// A fault is one kind of harm.
type fault struct {
	kind  string
	lasts time.Duration // from the strike until it is healed
	long  bool          // struck once per so many rounds, and others strike meanwhile

	// strike does the harm and returns what it was done to, and what undoes it.
	strike func(ctx context.Context, c *cluster, dice *rand.Rand) (target string, heal heal, err error)
}

type heal func(ctx context.Context) error

func allFaults(c *cluster) []fault {
	return slices.Concat(processFaults(), clockFaults(c), networkFaults(), databaseFaults(), operatorFaults())
}

// A strike is a fault that was done.
type strike struct {
	Kind, Target string
	Begin, End   time.Time
}

// nemesis draws the faults in an order that the seed decides. When they
// strike, and in the midst of what, is not the seed's to say.
type nemesis struct {
	t    *testing.T
	c    *cluster
	dice *rand.Rand

	round   int
	running sync.WaitGroup
	mu      sync.Mutex
	strikes []strike
}

const (
	roundsPerLong = 3 // long faults are in every third deck
	breath        = 2 * time.Second
)

// run strikes until the time is up and returns when everything is healed. It
// goes through shuffled decks, so that no kind is left out.
func (n *nemesis) run(ctx context.Context, faults []fault, until time.Time) []strike {
	for ; time.Now().Before(until); n.round++ {
		for _, i := range n.dice.Perm(len(faults)) {
			if !time.Now().Before(until) || ctx.Err() != nil {
				break
			}
			f, dice := faults[i], rand.New(rand.NewPCG(n.dice.Uint64(), n.dice.Uint64()))
			switch {
			case !f.long:
				n.do(ctx, f, dice)
				_ = pause(ctx, breath/2+time.Duration(n.dice.Int64N(int64(breath))))
			case n.round%roundsPerLong == i%roundsPerLong:
				n.running.Go(func() { n.do(ctx, f, dice) })
			}
		}
		_ = pause(ctx, breath/4)
	}
	n.running.Wait()
	return n.strikes
}

// do strikes, waits and heals. A fault whose victims are in other hands is
// left out: its turn comes again.
func (n *nemesis) do(ctx context.Context, f fault, dice *rand.Rand) {
	begin := time.Now()
	target, heal, err := f.strike(ctx, n.c, dice)
	if errors.Is(err, errBusy) {
		return
	}
	if err != nil {
		n.t.Logf("%s %-22s %-12s could not strike: %v", begin.Format(time.TimeOnly), f.kind, target, err)
	}
	_ = pause(ctx, f.lasts)
	if heal != nil {
		err = heal(context.WithoutCancel(ctx))
	}
	end := time.Now()
	switch {
	case errors.Is(err, errSlowStop):
		n.t.Errorf("%s %s %s: %v", begin.Format(time.TimeOnly), f.kind, target, err)
	case err != nil:
		n.t.Logf("%s %-22s %-12s could not heal: %v", end.Format(time.TimeOnly), f.kind, target, err)
	default:
		n.t.Logf("%s %-22s %-12s %5.1f s", begin.Format(time.TimeOnly), f.kind, target, end.Sub(begin).Seconds())
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.strikes = append(n.strikes, strike{f.kind, target, begin, end})
}
