package replica

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"os"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/prometheus/otlptranslator"
	"github.com/riverqueue/river/rivertype"
	"github.com/riverqueue/rivercontrib/otelriver"
	"go.opentelemetry.io/otel"
	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/exporters/otlp/otlpmetric/otlpmetrichttp"
	"go.opentelemetry.io/otel/exporters/otlp/otlptrace/otlptracehttp"
	otelprometheus "go.opentelemetry.io/otel/exporters/prometheus"
	sdkmetric "go.opentelemetry.io/otel/sdk/metric"
	"go.opentelemetry.io/otel/sdk/resource"
	sdktrace "go.opentelemetry.io/otel/sdk/trace"
	"go.opentelemetry.io/otel/trace"
	"go.opentelemetry.io/otel/trace/noop"
)

// telemetry is where a replica's metrics and traces go: metrics to its own page,
// and both to a collector if the environment names one.
type telemetry struct {
	meters *sdkmetric.MeterProvider
	traces trace.TracerProvider
	page   http.Handler
	flush  []func(context.Context) error
}

func openTelemetry(ctx context.Context, config Config) (*telemetry, error) {
	otel.SetErrorHandler(otel.ErrorHandlerFunc(func(err error) { config.Log.Warn("telemetry", "error", err) })) // a collector that is away, in our log
	self, err := resource.New(ctx, resource.WithTelemetrySDK(), resource.WithAttributes(
		attribute.String("service.name", config.Service),
		attribute.String("service.instance.id", config.ID),
		attribute.String("service.version", version()),
	), resource.WithFromEnv()) // which has the last word
	t := &telemetry{traces: noop.NewTracerProvider()}
	if err == nil {
		err = t.openMetrics(ctx, self)
	}
	if err == nil && collects("TRACES") {
		err = t.openTraces(ctx, self)
	}
	if err != nil {
		return nil, fmt.Errorf("telemetry: %w", err)
	}
	return t, nil
}

func (t *telemetry) openMetrics(ctx context.Context, self *resource.Resource) error {
	registry := prometheus.NewRegistry()
	pages, err := otelprometheus.New(otelprometheus.WithRegisterer(registry), otelprometheus.WithoutScopeInfo(),
		otelprometheus.WithTranslationStrategy(otlptranslator.UnderscoreEscapingWithSuffixes))
	if err != nil {
		return err
	}
	options := []sdkmetric.Option{
		sdkmetric.WithResource(self), sdkmetric.WithReader(pages), sdkmetric.WithView(ofRiver),
		sdkmetric.WithCardinalityLimit(0), // the registry bounds it; a limit would hide schedules
	}
	if collects("METRICS") {
		exporter, err := otlpmetrichttp.New(ctx)
		if err != nil {
			return fmt.Errorf("metrics by OTLP: %w", err)
		}
		options = append(options, sdkmetric.WithReader(sdkmetric.NewPeriodicReader(exporter)))
	}
	t.meters = sdkmetric.NewMeterProvider(options...)
	t.page = promhttp.HandlerFor(registry, promhttp.HandlerOpts{})
	t.flush = append(t.flush, t.meters.Shutdown)
	return nil
}

func (t *telemetry) openTraces(ctx context.Context, self *resource.Resource) error {
	exporter, err := otlptracehttp.New(ctx)
	if err != nil {
		return fmt.Errorf("traces by OTLP: %w", err)
	}
	provider := sdktrace.NewTracerProvider(sdktrace.WithResource(self), sdktrace.WithBatcher(exporter))
	t.traces = provider
	t.flush = append(t.flush, provider.Shutdown)
	return nil
}

// collects reports whether the environment names a collector for a signal, by
// the variables that OpenTelemetry defines. The exporters read the others.
func collects(signal string) bool {
	named := os.Getenv("OTEL_EXPORTER_OTLP_ENDPOINT") + os.Getenv("OTEL_EXPORTER_OTLP_"+signal+"_ENDPOINT")
	return named != "" && os.Getenv("OTEL_"+signal+"_EXPORTER") != "none" && os.Getenv("OTEL_SDK_DISABLED") != "true"
}

// middleware measures and traces River's own work. The context of a trace travels
// in the metadata of the job that it inserts.
func (t *telemetry) middleware() rivertype.Middleware {
	return otelriver.NewMiddleware(&otelriver.MiddlewareConfig{
		EnableTracePropagation: true, EnableWorkSpanJobKindSuffix: true, MeterProvider: t.meters, TracerProvider: t.traces,
	})
}

// ofRiver bounds what River's middleware measures: a job may be tried ten
// thousand times, and its tags are whatever an INSERT says. It leaves out the
// duration of whatever came last, and counts durations in seconds.
func ofRiver(instrument sdkmetric.Instrument) (sdkmetric.Stream, bool) {
	if instrument.Scope.Name != "github.com/riverqueue/rivercontrib/otelriver" {
		return sdkmetric.Stream{}, false
	}
	stream := sdkmetric.Stream{
		Name: instrument.Name, Description: instrument.Description, Unit: instrument.Unit,
		AttributeFilter: attribute.NewDenyKeysFilter("attempt", "tag"),
	}
	switch {
	case instrument.Kind == sdkmetric.InstrumentKindGauge:
		stream.Aggregation = sdkmetric.AggregationDrop{}
	case instrument.Unit == "s":
		stream.Aggregation = sdkmetric.AggregationExplicitBucketHistogram{Boundaries: []float64{0.005, 0.01, 0.05, 0.1, 0.5, 1, 5, 10, 60}}
	}
	return stream, true
}

// flushTimeout is what a collector that is away may cost a stop.
const flushTimeout = 2 * time.Second

// close sends what is left.
func (t *telemetry) close(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), flushTimeout)
	defer cancel()
	var failed error
	for _, flush := range t.flush {
		failed = errors.Join(failed, flush(ctx))
	}
	return failed
}
