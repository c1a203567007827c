package replica

import (
	"context"
	"fmt"
	"os"
	"runtime/debug"
	"time"

	"github.com/ranura/ranura/internal/periodic"
)

const (
	// beatEvery is short against GoneAfter, so that a beat or two may be lost.
	beatEvery = 2 * time.Second

	// beatTimeout bounds a beat whose answer does not come.
	beatTimeout = 30 * time.Second

	// GoneAfter is when the others take a silent replica for dead. It may only
	// be slow: then it finds its claims lost, and the hand-back costs an attempt.
	GoneAfter = 15 * time.Second
)

// beatSQL tells that this replica lives, and asks whether what it has is known,
// and whether anybody left a slot.
const beatSQL = `
WITH beat AS (
    INSERT INTO replicas (id, service, host, version, schedules, kinds, started_at, last_seen_at)
    VALUES ($1, $2, $3, $4, $5, $10, $6, clock_timestamp())
    ON CONFLICT (id) DO UPDATE SET last_seen_at = clock_timestamp()
)
SELECT clock_timestamp(),
       EXISTS (SELECT FROM unnest($5::text[]) AS mine (name)
               WHERE NOT EXISTS (SELECT FROM worker_schedules s WHERE s.name = mine.name AND s.removed_at IS NULL))
       OR EXISTS (SELECT FROM unnest($10::text[]) AS mine (name)
                  WHERE NOT EXISTS (SELECT FROM worker_kinds k WHERE k.name = mine.name)),
       EXISTS (SELECT FROM replicas WHERE last_seen_at < clock_timestamp() - $7::interval)
       OR EXISTS (SELECT FROM river_job WHERE state = 'running' AND attempted_at < clock_timestamp() - $7::interval
                  AND kind IN (SELECT name FROM worker_kinds)
                  AND NOT EXISTS (SELECT FROM replicas WHERE id = attempted_by[array_upper(attempted_by, 1)]))
       OR EXISTS (SELECT FROM river_job WHERE state IN ('available', 'retryable', 'scheduled') AND queue = $8
                  AND scheduled_at > clock_timestamp() + $9::interval AND args->>'slot' COLLATE "C" <= $11)`

// beat comes before the first job, so that there is no job whose replica nobody
// knows. What is not known is registered after it, so that nobody takes it for
// what a gone replica had: by a replica that starts, and by one whose schedules
// were removed because it was silent for so long that it counted as gone, or
// because somebody looked before it had beaten.
func (r *replica) beat(ctx context.Context) error {
	host, _ := os.Hostname() // for people only
	var now time.Time
	var forgotten, left bool
	asked := time.Now()
	err := r.control.QueryRow(ctx, beatSQL, r.ID, r.Service, host, version(), r.scheduleNames(), r.catchUp.StartedAt,
		GoneAfter, periodic.Queue, longestRetry, r.Registry.Kinds(), asked.UTC().Format(time.RFC3339)).Scan(&now, &forgotten, &left)
	if err != nil {
		return fmt.Errorf("beat: %w", err)
	}
	r.clock.compare(r.Log, asked, now, time.Now())
	if forgotten || !r.registered {
		if err := r.register(ctx); err != nil {
			return err
		}
	}
	if left {
		return r.handBack(ctx, now)
	}
	return nil
}

func (r *replica) register(ctx context.Context) error {
	r.registered = false
	if err := r.catchUp.Register(ctx); err != nil {
		return err
	}
	if err := r.Registry.RegisterKinds(ctx, r.control, r.Service); err != nil {
		return err
	}
	if err := r.retire(ctx, r.control); err != nil {
		return err
	}
	r.registered = true
	return nil
}

// keepBeating beats until ctx ends.
func (r *replica) keepBeating(ctx context.Context) {
	tick := time.NewTicker(beatEvery)
	defer tick.Stop()
	round, end := r.pulse.start("beat", beatEvery+beatTimeout)
	defer end()
	for {
		round()
		if err := r.boundedBeat(ctx); err != nil && ctx.Err() == nil {
			r.Log.Warn("beat failed: trying again", "error", err)
		}
		select {
		case <-ctx.Done():
			return
		case <-tick.C:
		}
	}
}

func (r *replica) boundedBeat(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, beatTimeout)
	defer cancel()
	return r.beat(ctx)
}

func (r *replica) scheduleNames() []string {
	var names []string
	for _, schedule := range r.Registry.Schedules() {
		names = append(names, schedule.Name)
	}
	return names
}

// version is the revision that the binary was built from, if it knows it.
func version() string {
	info, ok := debug.ReadBuildInfo()
	if !ok {
		return "unknown"
	}
	for _, setting := range info.Settings {
		if setting.Key == "vcs.revision" {
			return setting.Value
		}
	}
	return info.Main.Version
}

const leaveSQL = `DELETE FROM replicas WHERE id = $1`

// leave signs the replica off when it has stopped in order: nobody has to wait
// until it counts as gone.
func (r *replica) leave(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), readyTimeout)
	defer cancel()
	_, err := r.control.Exec(ctx, leaveSQL, r.ID)
	if err == nil {
		err = r.retire(ctx, r.control)
	}
	if err != nil {
		r.Log.Warn("sign off", "error", err)
	}
}
