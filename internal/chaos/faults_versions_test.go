package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"
)

// clockFaults run a replica for a while by a clock of its own.
func clockFaults(c *cluster) (faults []fault) {
	if c.skewed == "" {
		return nil
	}
	for _, off := range []time.Duration{time.Minute, -time.Minute, time.Hour} {
		faults = append(faults, fault{kind: fmt.Sprintf("clock %+.0f min", off.Minutes()), lasts: 15 * second, long: true, strike: func(_ context.Context, c *cluster, dice *rand.Rand) (string, heal, error) {
			r, err := c.hold(dice)
			if err != nil {
				return "", nil, err
			}
			if err := r.stop(); err != nil {
				return r.name, restart(r), err
			}
			env := r.env
			r.program, r.env = c.skewed, append(slices.Clip(r.env), fmt.Sprintf("%s=%.0f", skewEnv, off.Seconds()))
			back := func(ctx context.Context) error {
				err := r.stop()
				r.program, r.env = c.program, env
				return errors.Join(err, restart(r)(ctx))
			}
			return r.name, back, r.start()
		}})
	}
	return faults
}

// rollOut restarts one replica after the other with the second version.
func rollOut(ctx context.Context, c *cluster, _ *rand.Rand) (string, heal, error) {
	var failed error
	for _, r := range c.replicas {
		r.mu.Lock()
		failed = errors.Join(failed, r.stop())
		r.env = []string{versionEnv + "=" + secondVersion}
		failed = errors.Join(failed, r.start(), pause(ctx, 3*second))
		r.mu.Unlock()
	}
	return "all", nil, failed
}
