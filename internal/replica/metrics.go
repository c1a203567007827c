package replica

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/metric"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

// measure makes the replica's instruments.
func (r *replica) measure(ctx context.Context) (*periodic.Metrics, *workers.Metrics, error) {
	meter := r.telemetry.meters.Meter("github.com/ranura/ranura")
	slots, err := periodic.NewMetrics(ctx, meter, r.scheduleNames())
	attempts, err2 := workers.NewMetrics(ctx, meter, slots, r.Registry.Kinds())
	return slots, attempts, errors.Join(err, err2, r.observe(meter))
}

// observe registers what is read when somebody asks: the survey of the database,
// the clock and the pools. While the database is away the survey's metrics are
// absent, and an alert says so; the others go on.
func (r *replica) observe(meter metric.Meter) error {
	var all []metric.Observable
	var mistakes []error
	gauge := func(name, unit, description string) metric.Float64ObservableGauge {
		made, err := meter.Float64ObservableGauge(name, metric.WithUnit(unit), metric.WithDescription(description))
		all, mistakes = append(all, made), append(mistakes, err)
		return made
	}
	var (
		discarded = gauge("ranura.jobs.discarded", "", "Jobs that were given up and whose slot has not run since")
		failures  = gauge("ranura.failures.in_a_row", "", "Attempts that failed since the latest slot that ran")
		interval  = gauge("ranura.schedule.interval", "s", "How long the schedule may be without a run: the longer distance from its latest due slot to the next or the one before")
		owed      = gauge("ranura.owed_since.timestamp", "s", "Since when the schedule owes its slots: known, changed or paused last")
		overdue   = gauge("ranura.slots.overdue", "", "Slots due for longer than a minute and their timeout, neither run nor skipped")
		replicas  = gauge("ranura.replicas", "", "Replicas of the service that were seen in the last 15 seconds")
		skew      = gauge("ranura.replica.clock_skew", "s", "By how much this replica's clock is ahead of the database's, beyond what the round trip leaves open")
		success   = gauge("ranura.last_success.timestamp", "s", "When a slot of the schedule last ran; 0 before the first")
	)
	observed := func(ctx context.Context, o metric.Observer) error {
		o.ObserveFloat64(skew, time.Duration(r.clock.skew.Load()).Seconds())
		now := time.Now()
		for _, schedule := range r.Registry.Schedules() {
			o.ObserveFloat64(interval, schedule.Interval(now).Seconds(), byName(schedule.Name))
		}
		taken := r.surveys.latest(ctx, r)
		if taken == nil {
			return nil
		}
		o.ObserveFloat64(replicas, float64(taken.replicas))
		for _, s := range taken.schedules {
			o.ObserveFloat64(failures, float64(taken.failures[s.Name]), byName(s.Name))
			o.ObserveFloat64(overdue, float64(taken.overdue[s.Name]), byName(s.Name))
			o.ObserveFloat64(owed, s.OwedSince, byName(s.Name))
			o.ObserveFloat64(success, s.LastSuccess, byName(s.Name))
		}
		for _, kind := range r.Registry.Kinds() {
			o.ObserveFloat64(discarded, float64(taken.discarded[kind]), byName(kind))
		}
		return nil
	}
	_, err := meter.RegisterCallback(observed, all...)
	return errors.Join(append(mistakes, err, r.observePools(meter))...)
}

func (r *replica) observePools(meter metric.Meter) error {
	connections, err := meter.Int64ObservableGauge("ranura.pool.connections",
		metric.WithDescription("Connections of the pool: max, idle, and acquired by somebody"))
	waited, err2 := meter.Float64ObservableCounter("ranura.pool.wait", metric.WithUnit("s"),
		metric.WithDescription("Time that was spent waiting for a connection of the pool while all were acquired"))
	_, err3 := meter.RegisterCallback(func(_ context.Context, o metric.Observer) error {
		for name, pool := range map[string]*pgxpool.Pool{"control": r.control, "worker": r.working} {
			stat, of := pool.Stat(), attribute.String("pool", name)
			for state, n := range map[string]int32{"acquired": stat.AcquiredConns(), "idle": stat.IdleConns(), "max": stat.MaxConns()} {
				o.ObserveInt64(connections, int64(n), metric.WithAttributes(of, attribute.String("state", state)))
			}
			o.ObserveFloat64(waited, stat.EmptyAcquireWaitTime().Seconds(), metric.WithAttributes(of))
		}
		return nil
	}, connections, waited)
	return errors.Join(err, err2, err3)
}

func byName(name string) metric.MeasurementOption {
	return metric.WithAttributes(attribute.String("name", name))
}
