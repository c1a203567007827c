package periodic

import (
	"context"
	"errors"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/ranura/ranura/internal/claim"
)

// Metrics count what becomes of slots, by schedule: as many series as there are
// schedules, times outcomes and sources. A nil *Metrics counts nothing: a command
// that ends with its result has nobody to tell.
type Metrics struct {
	slots    metric.Int64Counter
	enqueued metric.Int64Counter
}

// NewMetrics makes the instruments, with the counters of the named schedules at 0:
// the first increase of a counter that was not there would be none.
func NewMetrics(ctx context.Context, meter metric.Meter, names []string) (*Metrics, error) {
	slots, err := meter.Int64Counter("ranura.slots",
		metric.WithDescription("Slots that ran, or were decided against, by outcome and source as in worker_runs"))
	enqueued, err2 := meter.Int64Counter("ranura.catch_up.enqueued",
		metric.WithDescription("Jobs of slots that catch-up found missing"))
	made := &Metrics{slots, enqueued}
	for _, name := range names {
		made.Settled(ctx, name, claim.Ran, claim.Schedule, 0)
		made.passed(ctx, name, Pass{})
	}
	return made, errors.Join(err, err2)
}

// Settled counts slots of a schedule that have come to an end.
func (m *Metrics) Settled(ctx context.Context, name string, outcome claim.Outcome, source claim.Source, slots int64) {
	if m != nil {
		m.slots.Add(ctx, slots, metric.WithAttributes(attribute.String("name", name),
			attribute.String("outcome", string(outcome)), attribute.String("source", string(source))))
	}
}

// passed counts what one pass over a schedule has committed.
func (m *Metrics) passed(ctx context.Context, name string, pass Pass) {
	if m == nil {
		return
	}
	m.enqueued.Add(ctx, int64(pass.Enqueued), metric.WithAttributes(attribute.String("name", name)))
	for _, skip := range pass.skips {
		m.Settled(ctx, name, skip.outcome, claim.CatchUp, skip.slots)
	}
}
