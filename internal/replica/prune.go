package replica

import (
	"context"
	"time"

	"github.com/ranura/ranura/internal/periodic"
)

// pruneEvery is often enough that what one hour leaves is little.
const (
	pruneEvery   = time.Hour
	pruneTimeout = time.Hour // a first one, after years without, has much to do
)

// keepPruning deletes old claims until ctx ends. Every replica does: whoever is
// second finds nothing.
func (r *replica) keepPruning(ctx context.Context) {
	tick := time.NewTicker(pruneEvery)
	defer tick.Stop()
	round, end := r.pulse.start("prune", pruneEvery+pruneTimeout)
	defer end()
	for {
		round()
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		bounded, cancel := context.WithTimeout(ctx, pruneTimeout)
		pruned, err := periodic.Prune(bounded, r.control, r.Retention)
		cancel()
		switch {
		case ctx.Err() != nil:
		case err != nil:
			r.Log.Warn("prune failed: trying again", "error", err, "every", pruneEvery)
		case pruned > 0:
			r.Log.Info("pruned claims", "claims", pruned, "older_than", r.Retention)
		}
	}
}
