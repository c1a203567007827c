package chaos

import (
	"context"
	"errors"
	"math/rand/v2"
	"syscall"
)

// processFaults are done to replicas as processes.
func processFaults() []fault {
	return []fault{
		{kind: "kill one", lasts: second, strike: killOne},
		{kind: "kill leader", lasts: second, strike: killLeader},
		{kind: "kill all", lasts: second, strike: killAll},
		{kind: "lose power", lasts: second, strike: losePower},
		{kind: "stop one", strike: stopOne},
		{kind: "stop leader", strike: stopLeader},
		{kind: "stop all", strike: stopAll},
		{kind: "freeze 5 s", lasts: 5 * second, strike: freezeOne},
		{kind: "freeze leader 10 s", lasts: 10 * second, strike: freezeLeader},
		{kind: "freeze 25 s", lasts: 25 * second, long: true, strike: freezeOne}, // longer than the beat may be missed
		{kind: "freeze 75 s", lasts: 75 * second, long: true, strike: freezeOne}, // longer than every timeout
	}
}

func killOne(_ context.Context, c *cluster, dice *rand.Rand) (string, heal, error) {
	r, err := c.hold(dice)
	if err != nil {
		return "", nil, err
	}
	return r.name, restart(r), r.kill()
}

// losePower kills a replica whose sessions the server goes on to believe in.
func losePower(_ context.Context, c *cluster, dice *rand.Rand) (string, heal, error) {
	r, err := c.hold(dice)
	if err != nil {
		return "", nil, err
	}
	r.proxy.darken()
	return r.name, restart(r), r.kill()
}

func killLeader(ctx context.Context, c *cluster, _ *rand.Rand) (string, heal, error) {
	r, err := c.holdLeader(ctx)
	if err != nil {
		return "", nil, err
	}
	return r.name, restart(r), r.kill()
}

// restart starts replicas again and lets go of them.
func restart(replicas ...*replica) heal {
	return func(context.Context) error {
		defer release(replicas)
		var failed error
		for _, r := range replicas {
			failed = errors.Join(failed, r.start())
		}
		return failed
	}
}

func killAll(_ context.Context, c *cluster, _ *rand.Rand) (string, heal, error) {
	all, err := c.holdAll()
	if err != nil {
		return "", nil, err
	}
	var failed error
	for _, r := range all {
		failed = errors.Join(failed, r.kill())
	}
	return "all", restart(all...), failed
}

func stopOne(_ context.Context, c *cluster, dice *rand.Rand) (string, heal, error) {
	r, err := c.hold(dice)
	if err != nil {
		return "", nil, err
	}
	return r.name, restart(r), r.stop()
}

func stopLeader(ctx context.Context, c *cluster, _ *rand.Rand) (string, heal, error) {
	r, err := c.holdLeader(ctx)
	if err != nil {
		return "", nil, err
	}
	return r.name, restart(r), r.stop()
}

func stopAll(_ context.Context, c *cluster, _ *rand.Rand) (string, heal, error) {
	all, err := c.holdAll()
	if err != nil {
		return "", nil, err
	}
	stopped := make(chan error, len(all))
	for _, r := range all {
		go func() { stopped <- r.stop() }()
	}
	var failed error
	for range all {
		failed = errors.Join(failed, <-stopped)
	}
	return "all", restart(all...), failed
}

func freezeOne(_ context.Context, c *cluster, dice *rand.Rand) (string, heal, error) {
	r, err := c.hold(dice)
	if err != nil {
		return "", nil, err
	}
	return r.name, thaw(r), r.signal(syscall.SIGSTOP)
}

func freezeLeader(ctx context.Context, c *cluster, _ *rand.Rand) (string, heal, error) {
	r, err := c.holdLeader(ctx)
	if err != nil {
		return "", nil, err
	}
	return r.name, thaw(r), r.signal(syscall.SIGSTOP)
}

// thaw lets a replica go on. It may find that its database sessions are gone.
func thaw(r *replica) heal {
	return func(context.Context) error {
		defer r.mu.Unlock()
		return r.signal(syscall.SIGCONT)
	}
}
