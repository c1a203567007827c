package replica

import (
	"context"
	"fmt"
	"sync"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

// A survey is what the metrics tell of the database. Every replica tells the
// same, so that any of them is enough.
type survey struct {
	schedules []surveyed
	failures  map[string]int64
	overdue   map[string]int64
	discarded map[string]int64
	replicas  int64
}

// surveyed is one schedule.
type surveyed struct {
	Name        string
	LastSlot    *time.Time // the latest that ran
	LastSuccess float64    // when, in Unix seconds; 0 before the first
	OwedSince   float64
}

// scheduleSurveySQL: a schedule owes its slots since it was known, since its
// definition changed, and since the last slot that it was paused at.
const scheduleSurveySQL = `
SELECT wanted.name, ran.slot_at,
       coalesce(extract(epoch FROM greatest(ran.ran_at, plain.ran_at)), 0)::float8,
       coalesce(extract(epoch FROM greatest(s.known_since, s.definition_changed_at, paused.last_slot, latest.paused)), 0)::float8
FROM (
    SELECT unnest($1::text[])
    UNION (SELECT name FROM worker_schedules WHERE source = 'stored' AND removed_at IS NULL ORDER BY name LIMIT $2)
) AS wanted (name)
LEFT JOIN worker_schedules s ON s.name = wanted.name
LEFT JOIN LATERAL (SELECT slot_at, ran_at FROM worker_runs
    WHERE name = wanted.name AND outcome = 'ran' AND slot_at IS NOT NULL ORDER BY slot_at DESC LIMIT 1) ran ON true
LEFT JOIN LATERAL (SELECT max(ran_at) AS ran_at FROM worker_runs
    WHERE name = wanted.name AND outcome = 'ran' AND slot_at IS NULL) plain ON true
LEFT JOIN LATERAL (SELECT CASE outcome WHEN 'skipped_paused' THEN slot_at END AS paused FROM worker_runs
    WHERE name = wanted.name AND slot_at IS NOT NULL ORDER BY slot_at DESC LIMIT 1) latest ON true
LEFT JOIN LATERAL (SELECT max(last_slot) AS last_slot FROM slot_skips
    WHERE name = wanted.name AND outcome = 'skipped_paused') paused ON true`

// maxStored bounds the series, and the cost, of stored schedules.
const maxStored = 1000

const livingSQL = `
SELECT count(*) FROM replicas WHERE service = $1 AND last_seen_at > clock_timestamp() - $2::interval`

func (r *replica) takeSurvey(ctx context.Context) (*survey, error) {
	ctx, cancel := context.WithTimeout(ctx, readyTimeout)
	defer cancel()
	rows, err := r.control.Query(ctx, scheduleSurveySQL, r.scheduleNames(), maxStored)
	if err != nil {
		return nil, fmt.Errorf("survey schedules: %w", err)
	}
	var taken survey
	if taken.schedules, err = pgx.CollectRows(rows, pgx.RowToStructByPos[surveyed]); err != nil {
		return nil, fmt.Errorf("survey schedules: %w", err)
	}
	if taken.failures, err = r.failures(ctx, taken.schedules); err != nil {
		return nil, err
	}
	if err := r.control.QueryRow(ctx, livingSQL, r.Service, GoneAfter).Scan(&taken.replicas); err != nil {
		return nil, fmt.Errorf("count replicas: %w", err)
	}
	if taken.discarded, err = workers.Discarded(ctx, r.control, r.Registry.Kinds()); err != nil {
		return nil, err
	}
	slots, err := periodic.Overdue(ctx, r.control)
	if err != nil {
		return nil, err
	}
	taken.overdue = make(map[string]int64)
	for _, slot := range slots {
		taken.overdue[slot.Name]++
	}
	return &taken, nil
}

const failingSQL = `
SELECT coalesce(CASE kind WHEN $2 THEN args->>'name' ELSE kind END, ''), coalesce(args->>'slot', ''), cardinality(errors) FROM river_job
WHERE queue = $1 AND state IN ('available', 'discarded', 'retryable', 'running', 'scheduled') AND cardinality(errors) > 0`

// failures counts, by schedule, the attempts that failed at slots after the
// latest that ran: those in a row.
func (r *replica) failures(ctx context.Context, schedules []surveyed) (map[string]int64, error) {
	ran := make(map[string]time.Time, len(schedules))
	for _, s := range schedules {
		if s.LastSlot != nil {
			ran[s.Name] = *s.LastSlot
		}
	}
	rows, err := r.control.Query(ctx, failingSQL, periodic.Queue, periodic.StoredKind)
	if err != nil {
		return nil, fmt.Errorf("survey failures: %w", err)
	}
	failures := make(map[string]int64)
	var kind, slot string
	var attempts int64
	_, err = pgx.ForEachRow(rows, []any{&kind, &slot, &attempts}, func() error {
		if at, err := time.Parse(time.RFC3339, slot); err == nil && at.After(ran[kind]) { // a job that somebody else inserted may carry anything
			failures[kind] += attempts
		}
		return nil
	})
	if err != nil {
		return nil, fmt.Errorf("survey failures: %w", err)
	}
	return failures, nil
}

// surveyFor keeps whoever scrapes, however often and many, from asking the
// database more than every few seconds. A survey that failed counts too.
const surveyFor = 5 * time.Second

// surveys keeps the latest survey.
type surveys struct {
	mu    sync.Mutex
	taken *survey // nil if it failed
	at    time.Time
}

func (s *surveys) latest(ctx context.Context, r *replica) *survey {
	s.mu.Lock()
	defer s.mu.Unlock()
	if time.Since(s.at) < surveyFor {
		return s.taken
	}
	var err error
	if s.taken, err = r.takeSurvey(ctx); err != nil && r.started.Load() {
		r.Log.WarnContext(ctx, "survey for the metrics failed", "error", err)
	}
	s.at = time.Now()
	return s.taken
}
