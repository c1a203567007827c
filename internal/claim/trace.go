package claim

import (
	"context"

	"go.opentelemetry.io/otel/attribute"
	"go.opentelemetry.io/otel/trace"
)

// traced records one part of a run as a span of the caller's trace; without one
// it records nothing. The span has no status: an attempt that failed says so on
// the caller's span, and the part that is missing tells how far it came.
func traced(ctx context.Context, key Key, part string, do func(context.Context) error) error {
	tracer := trace.SpanFromContext(ctx).TracerProvider().Tracer("github.com/ranura/ranura/internal/claim")
	ctx, span := tracer.Start(ctx, part, trace.WithAttributes(attribute.String("name", key.Name), attribute.String("key", key.Key)))
	defer span.End()
	return do(ctx)
}
