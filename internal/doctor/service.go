package doctor

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/replica"
	"github.com/ranura/ranura/internal/workers"
)

// retention must outlive whatever may try a slot again.
func retention(_ context.Context, p Patient) (verdict, error) {
	for _, schedule := range p.Registry.Schedules() {
		if window := schedule.MaxLateness + schedule.GiveUpAfter; p.Retention < window {
			return verdict{fmt.Sprintf("claims are kept for %s, and %q may run a slot %s late", p.Retention, schedule.Name, window),
				"raise CLAIM_RETENTION above it, or lower the schedule's MaxLateness and GiveUpAfter: a slot without its claim would run again"}, nil
		}
	}
	return verdict{found: fmt.Sprintf("claims are kept for %s", p.Retention)}, nil
}

const silentSQL = `
SELECT format('%s (since %s)', id, to_char(last_seen_at, 'YYYY-MM-DD HH24:MI:SS TZ')) FROM replicas
WHERE service = $1 AND last_seen_at <= clock_timestamp() - $2::interval ORDER BY last_seen_at`

const livingNamesSQL = `
SELECT id FROM replicas WHERE service = $1 AND last_seen_at > clock_timestamp() - $2::interval ORDER BY id`

func replicas(ctx context.Context, p Patient) (verdict, error) {
	living, err := texts(ctx, p, livingNamesSQL, p.Service, replica.GoneAfter)
	if err != nil {
		return verdict{}, err
	}
	silent, err := texts(ctx, p, silentSQL, p.Service, replica.GoneAfter)
	switch {
	case err != nil:
		return verdict{}, err
	case len(living) == 0:
		return verdict{fmt.Sprintf("no replica of %q lives", p.Service), "start app serve; nothing is lost meanwhile, catch-up runs what is due"}, nil
	case len(silent) > 0:
		return verdict{"silent: " + strings.Join(silent, ", "), "the others hand its slots back within seconds: if it stays, see their logs for \"beat failed\""}, nil
	}
	return verdict{found: strings.Join(living, ", ")}, nil
}

const leaderSQL = `SELECT leader_id FROM river_leader WHERE expires_at > clock_timestamp()`

func leader(ctx context.Context, p Patient) (verdict, error) {
	leads, err := texts(ctx, p, leaderSQL)
	if err != nil {
		return verdict{}, err
	}
	if len(leads) == 0 {
		return verdict{"nobody leads", "wait half a minute and look again; slots run without a leader, a few seconds late, but failed ones are not retried"}, nil
	}
	return verdict{found: leads[0]}, nil
}

// schedulesSQL lists the schedules that either side does not have.
const schedulesSQL = `
SELECT coalesce(stored.name || ' is stored, and not in this program', coded.name || ' is in this program, and not stored')
FROM (SELECT name FROM worker_schedules WHERE service = $1 AND source = 'code' AND removed_at IS NULL) AS stored
FULL JOIN unnest($2::text[]) AS coded (name) USING (name)
WHERE stored.name IS NULL OR coded.name IS NULL ORDER BY 1`

func schedules(ctx context.Context, p Patient) (verdict, error) {
	var names []string
	for _, schedule := range p.Registry.Schedules() {
		names = append(names, schedule.Name)
	}
	differ, err := texts(ctx, p, schedulesSQL, p.Service, names)
	if err != nil {
		return verdict{}, err
	}
	if len(differ) > 0 {
		return verdict{strings.Join(differ, ", "), "ask the program that the replicas run, or deploy this one: its first replica stores what is new and retires what is gone"}, nil
	}
	return verdict{found: fmt.Sprintf("%d, all stored", len(names))}, nil
}

const unknownJobsSQL = `
SELECT format('%s (%s)', kind, count(*)) FROM river_job
WHERE state IN ('available', 'pending', 'retryable', 'scheduled') AND queue = ANY ($1) AND kind NOT IN (SELECT name FROM worker_kinds)
GROUP BY kind ORDER BY kind`

func unknownJobs(ctx context.Context, p Patient) (verdict, error) {
	unknown, err := texts(ctx, p, unknownJobsSQL, []string{periodic.Queue, workers.Queue})
	if err != nil {
		return verdict{}, err
	}
	if len(unknown) > 0 {
		return verdict{"no replica knows " + strings.Join(unknown, ", "), "deploy the program that has them, or delete the jobs: they wait and are never tried"}, nil
	}
	return verdict{found: "none"}, nil
}

func overdue(ctx context.Context, p Patient) (verdict, error) {
	slots, err := periodic.Overdue(ctx, p.DB)
	if err != nil {
		return verdict{}, err
	}
	if len(slots) > 0 {
		return verdict{fmt.Sprintf("%d, the oldest is %s@%s, due at %s", len(slots), slots[0].Name, slots[0].Key, slots[0].At.Format(time.RFC3339)),
			"see the log for why; when it is mended: app run NAME --slot T, or app backfill NAME"}, nil
	}
	return verdict{found: "none"}, nil
}

func failed(ctx context.Context, p Patient) (verdict, error) {
	discarded, err := workers.Discarded(ctx, p.DB, p.Registry.Kinds())
	if err != nil {
		return verdict{}, err
	}
	if len(discarded) == 0 {
		return verdict{found: "none"}, nil
	}
	var counted []string
	for _, kind := range slices.Sorted(maps.Keys(discarded)) {
		counted = append(counted, fmt.Sprintf("%s (%d)", kind, discarded[kind]))
	}
	return verdict{"given up: " + strings.Join(counted, ", "), "see the job's errors on River's page; when it is mended, retry it there, or app run NAME --slot T"}, nil
}
