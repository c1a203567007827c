package command

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/ranura/ranura/internal/delivery"
	"github.com/ranura/ranura/internal/postgres"
	"github.com/ranura/ranura/internal/web/door"
)

// config is the environment, read once. README.md lists the variables.
type config struct {
	ClaimRetention retention `env:"CLAIM_RETENTION" envDefault:"9600h"`
	DatabaseURL    secret    `env:"DATABASE_URL"`
	HTTPAddr       string    `env:"HTTP_ADDR"       envDefault:"127.0.0.1:8080"`
	LogFormat      logFormat `env:"LOG_FORMAT"      envDefault:"auto"`
	LogLevel       logLevel  `env:"LOG_LEVEL"       envDefault:"INFO"`
	OTLPProtocol   protocol  `env:"OTEL_EXPORTER_OTLP_PROTOCOL"`
	ReplicaName    string    `env:"REPLICA_NAME"`
	ServiceName    string    `env:"SERVICE_NAME"    envDefault:"ranura"`
	Web            door.Settings

	door *door.Door

	endpoints delivery.Endpoints // of ENDPOINT_<NAME>_URL and what goes with it
}

const (
	// minRetention is a month: longer than anybody should want to run a slot again.
	minRetention = 30 * 24 * time.Hour

	// maxName leaves room for the suffix of each start in River's 100 characters.
	maxName = 90
)

// readConfig reports everything that is wrong with the environment at once.
func readConfig() (config, error) {
	read, err := env.ParseAs[config]()
	var mistakes []error
	if several, ok := errors.AsType[env.AggregateError](err); ok {
		for _, mistake := range several.Errors {
			if parse, ok := errors.AsType[env.ParseError](mistake); ok {
				mistake = parse.Err // which names the variable, and not the field of the struct here
			}
			mistakes = append(mistakes, mistake)
		}
	}
	if err := postgres.CheckURL(string(read.DatabaseURL)); err != nil {
		mistakes = append(mistakes, fmt.Errorf("DATABASE_URL %w", err))
	}
	if len(read.ReplicaName) > maxName {
		mistakes = append(mistakes, fmt.Errorf("REPLICA_NAME has %d characters: use at most %d", len(read.ReplicaName), maxName))
	}
	if read.door, err = door.New(read.Web); err != nil {
		mistakes = append(mistakes, err)
	}
	if read.endpoints, err = delivery.ReadEndpoints(os.Environ()); err != nil {
		mistakes = append(mistakes, err)
	}
	if err := errors.Join(mistakes...); err != nil {
		return config{}, usage(err)
	}
	return read, nil
}

// secret is a value that no log, error or page may show.
type secret string

// String implements [fmt.Stringer].
func (secret) String() string { return "[redacted]" }

// GoString implements [fmt.GoStringer].
func (secret) GoString() string { return "[redacted]" }

// retention is how long claims are kept.
type retention time.Duration

// UnmarshalText implements [encoding.TextUnmarshaler].
func (r *retention) UnmarshalText(text []byte) error {
	read, err := time.ParseDuration(string(text))
	if err != nil || read < minRetention {
		return fmt.Errorf("CLAIM_RETENTION is %q: set it to 720h (30 days) or more, such as 9600h", text)
	}
	*r = retention(read)
	return nil
}

// logFormat is "json", "text", or "auto": text on a terminal, JSON elsewhere.
type logFormat string

// UnmarshalText implements [encoding.TextUnmarshaler].
func (f *logFormat) UnmarshalText(text []byte) error {
	switch value := logFormat(text); value {
	case "auto", "json", "text":
		*f = value
		return nil
	default:
		return fmt.Errorf("LOG_FORMAT is %q: set it to auto, json or text", text)
	}
}

// protocol is how to speak to a collector of OpenTelemetry; the exporters read the
// variable themselves.
type protocol string

// UnmarshalText implements [encoding.TextUnmarshaler].
func (p *protocol) UnmarshalText(text []byte) error {
	if string(text) == "grpc" {
		return errors.New("OTEL_EXPORTER_OTLP_PROTOCOL is \"grpc\": set it to http/protobuf, and the endpoint to the collector's port for HTTP, such as http://localhost:4318")
	}
	*p = protocol(text)
	return nil
}

// logLevel is the least that is logged.
type logLevel slog.Level

// UnmarshalText implements [encoding.TextUnmarshaler].
func (l *logLevel) UnmarshalText(text []byte) error {
	if err := (*slog.Level)(l).UnmarshalText(text); err != nil {
		return fmt.Errorf("LOG_LEVEL is %q: set it to DEBUG, INFO, WARN or ERROR", text)
	}
	return nil
}

// logger writes one line per event, with the same keys everywhere.
func (c config) logger(to *os.File) *slog.Logger {
	options := &slog.HandlerOptions{Level: slog.Level(c.LogLevel)}
	if c.LogFormat == "json" || c.LogFormat == "auto" && !isTerminal(to) {
		return slog.New(slog.NewJSONHandler(to, options))
	}
	return slog.New(slog.NewTextHandler(to, options))
}

func isTerminal(file *os.File) bool {
	info, err := file.Stat()
	return err == nil && info.Mode()&os.ModeCharDevice != 0
}

// quiet is the logger of commands whose output is their result.
func quiet() *slog.Logger { return slog.New(slog.DiscardHandler) }
