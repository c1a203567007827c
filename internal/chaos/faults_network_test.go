package chaos

import (
	"context"
	"math/rand/v2"
	"time"
)

// networkFaults are done to the connections of one replica.
func networkFaults() []fault {
	return []fault{
		{kind: "cut before COMMIT", lasts: 4 * second, strike: onProxy(func(p *proxy) { p.cuts, p.after = 4, false })},
		{kind: "cut after COMMIT", lasts: 4 * second, strike: onProxy(func(p *proxy) { p.cuts, p.after = 4, true })},
		{kind: "latency 300 ms", lasts: 6 * second, strike: onProxy(func(p *proxy) { p.latency = 300 * time.Millisecond })},
		{kind: "black hole 5 s", lasts: 5 * second, strike: onProxy(func(p *proxy) { p.hole = true })},
		{kind: "black hole 25 s", lasts: 25 * second, long: true, strike: onProxy(func(p *proxy) { p.hole = true })},
		{kind: "reset", strike: func(_ context.Context, c *cluster, dice *rand.Rand) (string, heal, error) {
			r, err := c.hold(dice)
			if err != nil {
				return "", nil, err
			}
			defer r.mu.Unlock()
			r.proxy.reset()
			return r.name, nil, nil
		}},
	}
}

func onProxy(change func(*proxy)) func(context.Context, *cluster, *rand.Rand) (string, heal, error) {
	return func(_ context.Context, c *cluster, dice *rand.Rand) (string, heal, error) {
		r, err := c.hold(dice)
		if err != nil {
			return "", nil, err
		}
		r.proxy.set(func() { change(r.proxy) })
		return r.name, func(context.Context) error {
			defer r.mu.Unlock()
			r.proxy.heal()
			return nil
		}, nil
	}
}
