// Package web is what a replica serves over HTTP: health, River's own page,
// and runs by hand. Whatever shows or changes anything is behind the door.
package web

import (
	"context"
	"log/slog"
	"net/http"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"riverqueue.com/riverui"

	"github.com/ranura/ranura/internal/web/door"
	"github.com/ranura/ranura/internal/workers"
)

// Options are what the pages need of their replica.
type Options struct {
	Client  *river.Client[pgx.Tx]
	Door    *door.Door
	Alive   func() error                // nil when every loop of the replica goes round
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
	pages.Handle("/river/", policy(riverPolicy, ui))
	pages.HandleFunc("POST /schedules/{name}/run", options.run)

	open := http.NewServeMux() // and no more: no secret is in these, and who probes has no password
	open.HandleFunc("GET /healthz", options.healthz)
	open.HandleFunc("GET /readyz", options.readyz)
	open.Handle("GET /metrics", options.Metrics)
	open.Handle("/", options.Door.Handler(http.MaxBytesHandler(pages, maxBody)))
	return secure(open), nil
}

// maxBody is more than any request here needs: River's page sends lists of ids.
const maxBody = 1 << 20
