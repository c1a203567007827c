package replica

import (
	"fmt"
	"sync"
	"time"
)

// pulse knows when each loop of the replica last went round, so that a process
// which looks alive and does nothing is found out. What the database does is not
// its business: every round is bounded, also one that waits for it.
type pulse struct {
	mu    sync.Mutex
	loops map[string]*loop
}

// loop is one that goes round every so often, by the process's own clock.
type loop struct {
	longest time.Duration // a round and the sleep after it
	last    time.Time
}

// missedRounds is how many a loop may miss until it counts as dead.
const missedRounds = 3

// start makes a loop known and returns what it has to call in each round, and
// at its end.
func (p *pulse) start(name string, longest time.Duration) (round, end func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.loops == nil {
		p.loops = make(map[string]*loop)
	}
	mine := &loop{longest, time.Now()}
	p.loops[name] = mine
	return func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			mine.last = time.Now()
		}, func() {
			p.mu.Lock()
			defer p.mu.Unlock()
			delete(p.loops, name)
		}
}

// alive says which loop has stopped, or nil.
func (p *pulse) alive() error {
	p.mu.Lock()
	defer p.mu.Unlock()
	for name, loop := range p.loops {
		if silent := time.Since(loop.last); silent > missedRounds*loop.longest {
			return fmt.Errorf("%s has not gone round for %s", name, silent.Round(time.Second))
		}
	}
	return nil
}
