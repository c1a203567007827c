// Package web is what a replica serves over HTTP: health, River's own page,
// and runs by hand. It has no login yet, so the replica listens on the loopback
// interface only.
package web

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"net/url"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"riverqueue.com/riverui"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/workers"
)

// Options are what the pages need of their replica.
type Options struct {
	Client  *river.Client[pgx.Tx]
	Ready   func(context.Context) error // nil when the replica can do its work
	Metrics http.Handler
	Run     func(ctx context.Context, name string, request workers.Request) (workers.Result, error)
	Log     *slog.Logger
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

	pages := http.NewServeMux()
	pages.Handle("GET /{$}", http.RedirectHandler("/river/", http.StatusFound))
	pages.Handle("/river/", ui)
	pages.HandleFunc("POST /schedules/{name}/run", options.run)

	handler := http.NewServeMux() // a probe comes under any name, or none
	handler.HandleFunc("GET /healthz", healthz)
	handler.HandleFunc("GET /readyz", options.readyz)
	handler.Handle("GET /metrics", options.Metrics) // as open as the probes: names of schedules and numbers
	handler.Handle("/", localOnly(http.NewCrossOriginProtection().Handler(http.MaxBytesHandler(pages, maxBody))))
	return handler, nil
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

// run runs one slot: ?slot=2026-05-30T00:00:00Z or ?key=2026-W22, or the latest
// due one. It answers 200 also when the slot had run before, and says so. A query
// that it does not understand is refused: the latest slot is not a guess to make.
func (o Options) run(w http.ResponseWriter, r *http.Request) {
	request, err := parseRequest(r.URL.RawQuery)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
		return
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

func parseRequest(query string) (workers.Request, error) {
	request := workers.Request{Source: claim.Manual}
	values, err := url.ParseQuery(query)
	if err != nil {
		return request, fmt.Errorf("query: %w", err)
	}
	for name, value := range values {
		switch {
		case len(values) > 1 || len(value) > 1 || value[0] == "":
			return request, errors.New("query: give one slot or one key, or nothing")
		case name == "key":
			request.Key = value[0]
		case name == "slot":
			if request.Slot, err = time.Parse(time.RFC3339, value[0]); err != nil || request.Slot.IsZero() {
				return request, errors.New("slot: write it as 2026-05-30T00:00:00Z")
			}
		default:
			return request, fmt.Errorf("query: %q is neither slot nor key", name)
		}
	}
	return request, nil
}

// localOnly refuses requests that name another host than this machine. The
// pages have no login yet; a site whose name is made to point at this machine
// would otherwise reach them through the operator's own browser.
func localOnly(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		host := r.Host
		if name, _, err := net.SplitHostPort(host); err == nil {
			host = name
		}
		if ip := net.ParseIP(strings.Trim(host, "[]")); host != "localhost" && (ip == nil || !ip.IsLoopback()) {
			http.Error(w, "open this page under its loopback address", http.StatusForbidden)
			return
		}
		next.ServeHTTP(w, r)
	})
}
