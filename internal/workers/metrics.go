package workers

import (
	"cmp"
	"context"
	"errors"

	"github.com/riverqueue/river/rivertype"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
)

// Metrics count what becomes of attempts, by the names of the registry and by
// nothing that a job brings, so that their number is bounded. A nil *Metrics
// counts nothing.
type Metrics struct {
	slots     *periodic.Metrics
	lateness  metric.Float64Histogram
	failed    metric.Int64Counter
	givenUp   metric.Int64Counter
	lost      metric.Int64Counter
	cancelled metric.Int64Counter
}

// latenesses are the bounds of the histogram in seconds: a timer, catch-up, a
// replica that is gone, a retry, an outage.
var latenesses = []float64{0.1, 0.25, 0.5, 1, 2.5, 5, 10, 20, 60, 300, 900, 3600, 6 * 3600, 24 * 3600}

// NewMetrics makes the instruments. The counters of all kinds are there from the
// start, with 0, see [periodic.NewMetrics].
func NewMetrics(ctx context.Context, meter metric.Meter, slots *periodic.Metrics, kinds []string) (*Metrics, error) {
	var mistakes []error
	counter := func(name, description string) metric.Int64Counter {
		made, err := meter.Int64Counter(name, metric.WithDescription(description))
		mistakes = append(mistakes, err)
		for _, kind := range kinds {
			made.Add(ctx, 0, byName(kind))
		}
		return made
	}
	lateness, err := meter.Float64Histogram("ranura.slot.lateness", metric.WithUnit("s"),
		metric.WithDescription("From a slot to the attempt that ran it, by the database's clock; without what an operator asked for"),
		metric.WithExplicitBucketBoundaries(latenesses...))
	made := &Metrics{
		slots:     slots,
		lateness:  lateness,
		failed:    counter("ranura.attempts.failed", "Attempts that failed and rolled back"),
		givenUp:   counter("ranura.jobs.given_up", "Jobs that failed for the last time"),
		lost:      counter("ranura.claims.lost", "Attempts that found the claim taken: nothing was done twice"),
		cancelled: counter("ranura.jobs.cancelled", "Jobs that cancelled themselves, because no retry can mend them"),
	}
	return made, errors.Join(append(mistakes, err)...)
}

// Cancelled counts a job that nobody can run.
func (m *Metrics) Cancelled(ctx context.Context, name string) {
	if m != nil {
		m.cancelled.Add(ctx, 1, byName(name))
	}
}

func (m *Metrics) gaveUp(ctx context.Context, name string) {
	if m != nil {
		m.givenUp.Add(ctx, 1, byName(name))
	}
}

// attempted counts an attempt at a slot.
func (m *Metrics) attempted(ctx context.Context, a *attempt, outcome claim.Outcome, err error) {
	if m == nil {
		return
	}
	name := cmp.Or(a.series, a.slot.Name)
	m.ended(ctx, name, outcome, err)
	if err != nil || outcome == claim.Duplicate {
		return
	}
	m.slots.Settled(ctx, name, outcome, a.meta.Source, 1)
	if asked := a.meta.Source == claim.Manual || a.meta.Source == claim.Backfill; outcome == claim.Ran && !asked {
		m.lateness.Record(ctx, a.late.Seconds(), byName(name))
	}
}

// ended counts an attempt, at a slot or at a task, that came to nothing.
func (m *Metrics) ended(ctx context.Context, name string, outcome claim.Outcome, err error) {
	_, cancelled := errors.AsType[*rivertype.JobCancelError](err)
	switch {
	case m == nil, waits(err):
	case cancelled:
		m.Cancelled(ctx, name)
	case err != nil:
		m.failed.Add(ctx, 1, byName(name))
	case outcome == claim.Duplicate:
		m.lost.Add(ctx, 1, byName(name))
	}
}

func byName(name string) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String("name", name))
}
