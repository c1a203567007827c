package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// triggers ask for slots besides the timers: plain INSERTs into the queue as
// any language makes them, without River's unique key, and "app run". They ask
// for the slots that the timers are just about to fire or have just fired.
type triggers struct {
	c        *cluster
	stop     func()    // and wait
	since    time.Time // slots from before are nobody's business
	inserted int
	runs     int
}

const (
	insertsEvery   = 400 * time.Millisecond
	runByHandEvery = 2 * time.Second
)

// ask waits until every replica works, and then asks until it is stopped.
func ask(t *testing.T, c *cluster) *triggers {
	t.Helper()
	require.Eventually(t, func() bool { return c.isAtWork(t.Context()) }, time.Minute, 100*time.Millisecond, "the replicas start to work")
	ctx, cancel := context.WithCancel(t.Context())
	asking := &triggers{c: c, since: time.Now()}
	var both sync.WaitGroup
	both.Go(func() { asking.insertJobs(ctx) })
	both.Go(func() {
		if err := asking.runByHand(ctx); err != nil {
			t.Errorf("run by hand: %v", err)
		}
	})
	asking.stop = func() { cancel(); both.Wait() }
	return asking
}

// atWorkSQL looks at effects, because a service with a mistake may have no claims.
const atWorkSQL = `SELECT count(DISTINCT left(id, 1)) FROM replicas WHERE EXISTS (SELECT FROM effects)`

func (c *cluster) isAtWork(ctx context.Context) bool {
	var n int
	err := c.db.QueryRow(ctx, atWorkSQL).Scan(&n)
	return err == nil && n == len(c.replicas)
}

const insertJobSQL = `
INSERT INTO river_job (kind, args, queue, max_attempts)
VALUES ($1, jsonb_build_object('key', $2::text, 'slot', $2::text), 'slots', 25)`

// insertJobs asks for the slot before now or the coming one: a job that is
// there too early has to wait.
func (t *triggers) insertJobs(ctx context.Context) {
	known := stable()
	for pause(ctx, insertsEvery) == nil {
		chosen := known[rand.IntN(len(known))]
		slot := time.Now().UTC().Add(second).Truncate(chosen.period)
		if !slot.After(t.since) {
			continue
		}
		if _, err := t.c.db.Exec(ctx, insertJobSQL, chosen.name, slot.Format(time.RFC3339)); err == nil {
			t.inserted++
		}
	}
}

// runByHand runs the latest slot of one schedule after the other.
func (t *triggers) runByHand(ctx context.Context) error {
	file, err := os.OpenFile(filepath.Join(t.c.folder, "run-001.jsonl"), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer file.Close()
	known := stable()
	for n := 0; pause(ctx, runByHandEvery) == nil; n++ {
		chosen := known[n%len(known)]
		if !time.Now().Truncate(chosen.period).After(t.since) {
			continue
		}
		name := chosen.name
		run := exec.CommandContext(context.WithoutCancel(ctx), t.c.program, "run", name, "--json")
		run.Env = append(os.Environ(), asApp+"=1", versionEnv+"="+firstVersion, "DATABASE_URL="+t.c.server.URL, "REPLICA_NAME=run")
		run.Stderr = file
		out, err := run.Output()
		t.runs++
		if _, err := fmt.Fprintln(file, byHandLine(name, out, err)); err != nil {
			return err
		}
	}
	return nil
}
