// Package replica is one process of the service: the timers, the workers and
// the pages, on two pools of one database. Any number of replicas run at once
// and know each other through Postgres alone.
package replica

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"strings"
	"sync/atomic"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"golang.org/x/sync/errgroup"

	"github.com/ranura/ranura/internal/delivery"
	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/postgres"
	"github.com/ranura/ranura/internal/web/door"
	"github.com/ranura/ranura/internal/workers"
)

// Config is what a replica is told.
type Config struct {
	DatabaseURL string
	HTTPAddr    string        // a loopback address, unless the door has a lock; port 0 takes a free one
	Door        *door.Door    // of the pages
	ID          string        // see NewID
	Service     string        // one name for all replicas with the same registry
	Retention   time.Duration // how long claims are kept
	Registry    *workers.Registry
	Endpoints   delivery.Endpoints
	Log         *slog.Logger
}

// NewID returns an id that is unique for each start of a process, so that the
// traces of a replica that died are never taken for those of its successor. An
// empty name is the host's.
func NewID(name string) string {
	if name == "" {
		name, _ = os.Hostname() // an empty name is still unique
	}
	return name + "-" + strings.ToLower(rand.Text()[:6])
}

// replica is one process at work.
type replica struct {
	Config

	control *pgxpool.Pool // River's own work: election, fetch, notify
	working *pgxpool.Pool // the workers' transactions, so that busy workers cannot cost the leadership
	runner  *workers.Runner
	client  *river.Client[pgx.Tx]
	catchUp *periodic.CatchUp
	started atomic.Bool

	// Of the beat alone.
	clock      clock
	registered bool

	pulse     pulse
	telemetry *telemetry
	surveys   surveys
}

// Run serves until ctx ends, then stops in order: no new slot is taken, running
// ones may finish for softStop, then they are cancelled and roll back. It waits
// for a database that is away, and fails at once on a configuration that
// waiting cannot mend.
func Run(ctx context.Context, config Config) error {
	r := &replica{Config: config}
	for _, schedule := range r.Registry.Schedules() {
		for _, warning := range schedule.Warnings() {
			r.Log.Warn("schedule", "warning", warning)
		}
	}
	listener, err := listen(ctx, r.HTTPAddr, r.Door.Open()) // before anything is touched
	if err != nil {
		return err
	}
	if err := r.open(ctx); err != nil {
		return errors.Join(err, listener.Close())
	}
	defer r.close(ctx)

	group, ctx := errgroup.WithContext(ctx)
	group.Go(func() error { return r.serveHTTP(ctx, listener) })
	group.Go(func() error { return r.work(ctx) })
	return group.Wait()
}

// open connects nothing yet: the pools dial when they are used.
func (r *replica) open(ctx context.Context) (err error) {
	if r.telemetry, err = openTelemetry(ctx, r.Config); err != nil {
		return err
	}
	if r.control, err = postgres.OpenControl(ctx, r.DatabaseURL, r.ID, controlConns); err != nil {
		return err
	}
	if r.working, err = postgres.OpenWorkers(ctx, r.DatabaseURL, r.ID, r.Registry.LongestTimeout(), maxWorkers+maxTasks); err != nil {
		r.control.Close()
		return err
	}
	slots, attempts, err := r.measure(ctx)
	if err != nil {
		return err
	}
	r.runner = &workers.Runner{DB: r.working, Replica: r.ID, Endpoints: r.Endpoints, Log: r.Log, Metrics: attempts}
	if r.client, err = newClient(r); err != nil {
		return err
	}
	r.catchUp = &periodic.CatchUp{DB: r.control, Client: r.client, Entries: r.Registry.Entries(), Replica: r.ID, Service: r.Service, Log: r.Log, Metrics: slots, Vet: workers.Vet}
	return nil
}

// close gives the pools back. It does not wait for a worker that holds on to its
// connection: the end of the process takes it, and its claim rolls back.
func (r *replica) close(ctx context.Context) {
	if err := r.telemetry.close(ctx); err != nil {
		r.Log.Warn("send the last metrics and traces", "error", err)
	}
	closed := make(chan struct{})
	go func() {
		r.working.Close()
		r.control.Close()
		close(closed)
	}()
	select {
	case <-closed:
	case <-time.After(hardStop):
	}
}

// work runs the timers and the workers until ctx ends.
func (r *replica) work(ctx context.Context) error {
	for _, step := range []func(context.Context) error{r.prepare, r.beat, r.client.Start} {
		err := r.untilDatabase(ctx, step)
		if ctx.Err() != nil {
			return nil //nolint:nilerr // told to stop before it had started: what the step says to that is no failure
		}
		if err != nil {
			return err
		}
	}
	r.started.Store(true)
	r.Log.Info("replica started", "replica", r.ID, "zone_data", periodic.ZoneData())

	go r.keepBeating(ctx)
	go r.keepPruning(ctx)
	round, end := r.pulse.start("catch-up", periodic.LongestRound)
	r.catchUp.Round = round
	r.catchUp.Run(ctx, r.wakes(ctx)) // until ctx ends
	end()
	r.announceLeaving(ctx)
	r.started.Store(false)
	r.Log.Info("replica stopping", "replica", r.ID)
	select {
	case <-r.client.Stopped():
		r.leave(ctx)
		r.Log.Info("replica stopped", "replica", r.ID)
		return nil
	case <-time.After(softStop + hardStop):
		return fmt.Errorf("stop: a worker ignores that its context was cancelled %s ago: the process ends without it and its claim rolls back", hardStop)
	}
}
