package replica

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"net"
	"net/http"
	"time"

	"github.com/ranura/ranura/internal/web"
	"github.com/ranura/ranura/internal/workers"
)

// serveHTTP serves the pages until ctx ends. It does not wait for the database:
// a replica that cannot work yet is alive and says so.
func (r *replica) serveHTTP(ctx context.Context, listener net.Listener) error {
	handler, err := web.Handler(ctx, web.Options{Client: r.client, Door: r.Door, Alive: r.pulse.alive, Ready: r.ready, Run: r.runByHand, Metrics: r.telemetry.page, Log: r.Log})
	if err != nil {
		return fmt.Errorf("open pages: %w", errors.Join(err, listener.Close()))
	}
	running, cancel := context.WithCancel(context.WithoutCancel(ctx)) // requests outlive ctx for a while
	defer cancel()
	server := &http.Server{
		BaseContext:       func(net.Listener) context.Context { return running },
		ErrorLog:          slog.NewLogLogger(r.Log.Handler(), slog.LevelWarn),
		Handler:           handler,
		ReadHeaderTimeout: 5 * time.Second,
		ReadTimeout:       15 * time.Second,
		WriteTimeout:      r.Registry.LongestTimeout() + 15*time.Second, // a run by hand answers when it is done
		IdleTimeout:       2 * time.Minute,
		MaxHeaderBytes:    1 << 16,
	}
	r.Log.Info("serving", "replica", r.ID, "http", "http://"+listener.Addr().String())

	stopped := make(chan struct{})
	context.AfterFunc(ctx, func() {
		defer close(stopped)
		soft, done := context.WithTimeout(running, softStop)
		defer done()
		if server.Shutdown(soft) != nil { // runs by hand are as slots are: they may finish, then they are cancelled
			cancel()
			hard, done := context.WithTimeout(context.WithoutCancel(ctx), hardStop)
			defer done()
			_ = server.Shutdown(hard)
		}
	})
	if err := server.Serve(listener); !errors.Is(err, http.ErrServerClosed) {
		return fmt.Errorf("serve pages: %w", err)
	}
	<-stopped // Serve returns when the stop begins
	return nil
}

// ErrAddr means that the replica may not listen where it was told to.
var ErrAddr = errors.New("HTTP_ADDR")

// listen refuses every address that others can reach if the door has no lock:
// the pages change things for whoever opens them then.
func listen(ctx context.Context, addr string, open bool) (net.Listener, error) {
	host, _, err := net.SplitHostPort(addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w: write it as 127.0.0.1:8080", ErrAddr, err)
	}
	if ip := net.ParseIP(host); open && host != "localhost" && (ip == nil || !ip.IsLoopback()) {
		return nil, fmt.Errorf("%w: %q is not a loopback address, and nobody needs a password: set WEB_OPERATOR_PASSWORD, or use 127.0.0.1:8080", ErrAddr, addr)
	}
	var config net.ListenConfig
	listener, err := config.Listen(ctx, "tcp", addr)
	if err != nil {
		return nil, fmt.Errorf("%w: %w", ErrAddr, err)
	}
	return listener, nil
}

func (r *replica) runByHand(ctx context.Context, name string, request workers.Request) (workers.Result, error) {
	scheduled, err := r.Registry.Lookup(ctx, r.control, name)
	if err != nil {
		return workers.Result{}, err
	}
	ctx, span := r.telemetry.traces.Tracer("github.com/ranura/ranura/internal/replica").Start(ctx, "run by hand")
	defer span.End()
	return r.runner.RunByHand(ctx, r.working, scheduled, request)
}
