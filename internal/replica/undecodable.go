package replica

import (
	"context"
	"encoding/json"
	"log/slog"
	"time"

	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

// errorHandler sees the failures that no worker sees, because River could not
// make the worker's arguments of the job's. Nothing mends such a job: it is
// cancelled, and said.
type errorHandler struct {
	registry *workers.Registry
	metrics  *workers.Metrics
	log      *slog.Logger
}

// HandleError implements [river.ErrorHandler].
func (h errorHandler) HandleError(ctx context.Context, job *rivertype.JobRow, err error) *river.ErrorHandlerResult {
	if _, err := h.registry.Find(job.Kind); err != nil && job.Kind != periodic.StoredKind {
		return nil // no schedule: tasks read their own arguments
	}
	var slot struct {
		Name string    `json:"name"` // of a stored schedule
		Key  string    `json:"key"`
		Slot time.Time `json:"slot"`
	}
	if json.Unmarshal(job.EncodedArgs, &slot) == nil {
		return nil // a worker's own failure, which it has logged
	}
	h.metrics.Cancelled(ctx, job.Kind)
	h.log.WarnContext(ctx, "job cancelled: its arguments cannot be read", "name", job.Kind, "job", job.ID, "error", err)
	return &river.ErrorHandlerResult{SetCancelled: true}
}

// HandlePanic implements [river.ErrorHandler]. A worker's panic does not come
// here: the claim makes an error of it.
func (h errorHandler) HandlePanic(ctx context.Context, job *rivertype.JobRow, value any, trace string) *river.ErrorHandlerResult {
	h.log.ErrorContext(ctx, "panic outside a worker", "name", job.Kind, "job", job.ID, "panic", value, "stack", trace)
	return nil
}
