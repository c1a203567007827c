package command

import (
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/caarlos0/env/v11"

	"github.com/ranura/ranura/internal/postgres"
)

// config is the environment, read once. README.md lists the variables.
type config struct {
	DatabaseURL secret     `env:"DATABASE_URL,required,notEmpty"`
	HTTPAddr    string     `env:"HTTP_ADDR" envDefault:"127.0.0.1:8080"`
	LogFormat   logFormat  `env:"LOG_FORMAT" envDefault:"auto"`
	LogLevel    slog.Level `env:"LOG_LEVEL" envDefault:"INFO"`
	ReplicaName string     `env:"REPLICA_NAME"`
	ServiceName string     `env:"SERVICE_NAME" envDefault:"ranura"`

	ClaimRetention time.Duration `env:"CLAIM_RETENTION" envDefault:"9600h"`
}

// minRetention is a month: longer than anybody should want to run a slot again.
const minRetention = 30 * 24 * time.Hour

// readConfig reports everything that is wrong with the environment at once.
func readConfig() (config, error) {
	read, err := env.ParseAs[config]()
	if mistakes, ok := errors.AsType[env.AggregateError](err); ok {
		err = errors.Join(mistakes.Errors...)
	}
	if err != nil {
		return config{}, usage(fmt.Errorf("environment: %w", err))
	}
	if read.ClaimRetention < minRetention {
		return config{}, usage(fmt.Errorf("CLAIM_RETENTION is %s: set it to %s or more, such as 9600h", read.ClaimRetention, minRetention))
	}
	if err := postgres.CheckURL(string(read.DatabaseURL)); err != nil {
		return config{}, usage(fmt.Errorf("DATABASE_URL %w", err))
	}
	return read, nil
}

// secret is a value that no log, error or page may show.
type secret string

// String implements [fmt.Stringer].
func (secret) String() string { return "[redacted]" }

// GoString implements [fmt.GoStringer].
func (secret) GoString() string { return "[redacted]" }

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

// logger writes one line per event, with the same keys everywhere.
func (c config) logger(to *os.File) *slog.Logger {
	options := &slog.HandlerOptions{Level: c.LogLevel}
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
