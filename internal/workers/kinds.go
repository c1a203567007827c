package workers

import (
	"context"
	"fmt"
	"slices"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"

	"github.com/ranura/ranura/internal/periodic"
)

// Queue carries the jobs of tasks. Slots have one of their own, so that a
// backlog here delays none.
const Queue = river.QueueDefault

// Kinds lists the names of all workers of the registry and that of the stored
// schedules' jobs, in alphabetical order.
func (r *Registry) Kinds() []string {
	kinds := make([]string, 0, len(r.scheduled)+len(r.onDemand)+1)
	kinds = append(kinds, periodic.StoredKind)
	for _, scheduled := range r.scheduled {
		kinds = append(kinds, scheduled.Name)
	}
	for _, task := range r.onDemand {
		kinds = append(kinds, task.name)
	}
	slices.Sort(kinds)
	return kinds
}

// registerKindsSQL goes through the kinds in the order in which every replica
// does: two that start at once lock no rows crosswise.
const registerKindsSQL = `
INSERT INTO worker_kinds (name, service, queue)
SELECT name, $2, CASE WHEN name = ANY ($3::text[]) THEN $4 ELSE $5 END FROM unnest($1::text[]) AS name
ON CONFLICT (name) DO UPDATE SET service = excluded.service, queue = excluded.queue`

// RegisterKinds makes the registry's workers known to enqueue_job. They stay
// known while no replica is up; see the replica for when they are forgotten.
func (r *Registry) RegisterKinds(ctx context.Context, db periodic.DB, service string) error {
	if err := r.refuseStored(ctx, db); err != nil {
		return fmt.Errorf("register kinds: %w", err)
	}
	var tasks []string
	for _, task := range r.onDemand {
		tasks = append(tasks, task.name)
	}
	if _, err := db.Exec(ctx, registerKindsSQL, r.Kinds(), service, tasks, Queue, periodic.Queue); err != nil {
		return fmt.Errorf("register kinds: %w", err)
	}
	return nil
}

const storedNamesSQL = `SELECT name FROM worker_schedules WHERE source = 'stored' AND name = ANY ($1) ORDER BY name LIMIT 1`

// refuseStored is for the tasks: the schedules have been told when they were registered.
func (r *Registry) refuseStored(ctx context.Context, db periodic.DB) error {
	rows, err := db.Query(ctx, storedNamesSQL, r.Kinds())
	if err != nil {
		return err
	}
	taken, err := pgx.CollectRows(rows, pgx.RowTo[string])
	if err == nil && len(taken) > 0 {
		err = fmt.Errorf("worker %q: %w", taken[0], periodic.ErrNameStored)
	}
	return err
}
