// Package web is what a replica serves over HTTP: health, River's own page,
// and runs by hand. It has no login yet, so the replica listens on the loopback
// interface only.
package web

import (
	"context"
	"encoding/json"
	"errors"
	"log/slog"
	"net/http"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"riverqueue.com/riverui"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/workers"
)

// Options are what the pages need of their replica.
type Options struct {
	Client *river.Client[pgx.Tx]
	Ready  func(context.Context) error // nil when the replica can do its work
	Run    func(ctx context.Context, name string, request workers.Request) (workers.Result, error)
	Log    *slog.Logger
}

// Handler returns the pages. They live until ctx ends.
func Handler(ctx context.Context, options Options) (http.Handler, error) {
	ui, err := riverui.NewHandler(&riverui.HandlerOpts{
		Endpoints: riverui.NewEndpoints(options.Client, nil),
		Logger:    options.Log,
		Prefix:    "/river",
	})
	if err != nil {
		return nil, err
	}
	if err := ui.Start(ctx); err != nil {
		return nil, err
	}

	mux := http.NewServeMux()
	mux.Handle("GET /{$}", http.RedirectHandler("/river/", http.StatusFound))
	mux.Handle("/river/", ui)
	mux.HandleFunc("GET /healthz", healthz)
	mux.HandleFunc("GET /readyz", options.readyz)
	mux.HandleFunc("POST /schedules/{name}/run", options.run)
	return http.NewCrossOriginProtection().Handler(http.MaxBytesHandler(mux, maxBody)), nil
}

// maxBody is more than any request here needs: River's page sends lists of ids.
const maxBody = 1 << 20

// healthz says that the process answers. It does not ask the database: a
// database that blinks must not restart every replica.
func healthz(w http.ResponseWriter, _ *http.Request) {
	_, _ = w.Write([]byte("ok\n"))
}

// readyz says whether the replica can do its work. The reason goes to the log,
// not to whoever asks.
func (o Options) readyz(w http.ResponseWriter, r *http.Request) {
	if err := o.Ready(r.Context()); err != nil {
		o.Log.WarnContext(r.Context(), "not ready", "error", err)
		http.Error(w, "not ready", http.StatusServiceUnavailable)
		return
	}
	_, _ = w.Write([]byte("ready\n"))
}

// run runs one slot: ?slot=2026-05-30T00:00:00Z, or the latest due one. It
// answers 200 also when the slot had run before, and says so.
func (o Options) run(w http.ResponseWriter, r *http.Request) {
	request := workers.Request{Source: claim.Manual}
	if text := r.URL.Query().Get("slot"); text != "" {
		slot, err := time.Parse(time.RFC3339, text)
		if err != nil {
			http.Error(w, "slot: write it as 2026-05-30T00:00:00Z", http.StatusBadRequest)
			return
		}
		request.Slot = slot
	}
	result, err := o.Run(r.Context(), r.PathValue("name"), request)
	switch {
	case errors.Is(err, workers.ErrUnknown):
		http.Error(w, err.Error(), http.StatusNotFound)
	case errors.Is(err, workers.ErrBadSlot):
		http.Error(w, err.Error(), http.StatusUnprocessableEntity)
	case err != nil:
		o.Log.ErrorContext(r.Context(), "run by hand", "name", r.PathValue("name"), "error", err)
		http.Error(w, "the slot failed: see the log of this replica", http.StatusInternalServerError)
	default:
		w.Header().Set("Content-Type", "application/json")
		_ = json.NewEncoder(w).Encode(result)
	}
}
