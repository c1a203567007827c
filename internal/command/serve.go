package command

import (
	"context"
	"errors"
	"io"
	"os"
	"time"

	"github.com/spf13/cobra"

	"github.com/ranura/ranura/internal/replica"
)

func (a *app) serve() *cobra.Command {
	var untilEOF bool
	command := &cobra.Command{
		Use:   "serve",
		Short: "Run one replica: timers, workers and pages",
		Long: `Run one replica: timers, workers and pages. Start as many as you like on one
database. A replica migrates the database if that is due, waits for a database
that is away, and stops in order within 25 seconds of SIGTERM.

Environment: DATABASE_URL (required), HTTP_ADDR (127.0.0.1:8080), LOG_FORMAT
(auto, json, text), LOG_LEVEL (INFO), REPLICA_NAME (the host's name),
SERVICE_NAME (ranura; services that share a database need names of their own),
CLAIM_RETENTION (9600h: claims are kept for 400 days), OTEL_EXPORTER_OTLP_ENDPOINT
(a collector of metrics and traces, by HTTP) and what else OpenTelemetry defines,
WEB_VIEWER_PASSWORD, WEB_OPERATOR_PASSWORD and WEB_PROXY_* (docs/operations.md),
and for each endpoint that jobs may call ENDPOINT_<NAME>_URL and _SECRET (docs/http.md).`,
		Example: `  DATABASE_URL=postgres://ranura:…@db:5432/community app serve`,
		Args:    cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			ctx := cmd.Context()
			if untilEOF {
				var stop context.CancelFunc
				ctx, stop = context.WithCancel(ctx)
				go func() {
					_, _ = io.Copy(io.Discard, cmd.InOrStdin())
					stop()
				}()
			}
			return outcome(a.serveReplica(ctx))
		},
	}
	command.Flags().BoolVar(&untilEOF, "until-eof", false, "stop when standard input ends, as it does when the parent process dies")
	_ = command.Flags().MarkHidden("until-eof") // it exists: defined a line above
	return command
}

func (a *app) serveReplica(ctx context.Context) error {
	config, err := readConfig()
	if err != nil {
		return err
	}
	registry, err := a.registry()
	if err != nil {
		return err
	}
	err = replica.Run(ctx, replica.Config{
		DatabaseURL: string(config.DatabaseURL),
		HTTPAddr:    config.HTTPAddr,
		Door:        config.door,
		ID:          replica.NewID(config.ReplicaName),
		Service:     config.ServiceName,
		Retention:   time.Duration(config.ClaimRetention),
		Registry:    registry,
		Endpoints:   config.endpoints,
		Log:         config.logger(os.Stderr),
	})
	if errors.Is(err, replica.ErrAddr) {
		return usage(err)
	}
	return err
}
