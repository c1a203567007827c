// Package command is the operator's surface: the commands of the app, their
// flags, the environment they read and the exit status they end with.
package command

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ranura/ranura/internal/workers"
)

// The exit statuses, the same for every command.
const (
	exitDone   = 0 // done, or already done
	exitFailed = 1
	exitUsage  = 2 // wrong usage or configuration
	exitDiffer = 3 // an audit found a discrepancy
)

// Main runs the command that the process was started with, on the given
// crontab, and returns the exit status. The first SIGINT or SIGTERM asks the
// command to end in order, the second ends the process at once.
func Main(entries []workers.Entry) int {
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	context.AfterFunc(ctx, stop)

	app := &app{entries: entries}
	err := app.root().ExecuteContext(ctx)
	if err == nil {
		return exitDone
	}
	failed, ok := errors.AsType[failure](err)
	if !ok { // cobra's own: an unknown command, flag or argument
		failed = failure{err, exitUsage}
	}
	if ctx.Err() != nil && errors.Is(err, context.Canceled) {
		failed = failure{errors.New("interrupted"), exitFailed}
	}
	fmt.Fprintf(os.Stderr, "app: %s%s\n", oneLine(failed.Error()), hint(err))
	return failed.status
}

// oneLine joins the lines of an error: of several mistakes, of a connection that
// was tried at several addresses, of cobra's suggestions.
func oneLine(text string) string {
	var line strings.Builder
	for part := range strings.Lines(text) {
		part = strings.TrimSpace(part)
		switch before := line.String(); {
		case part == "":
			continue
		case before == "":
		case strings.HasSuffix(before, ":"), strings.HasSuffix(before, "?"):
			line.WriteString(" ")
		default:
			line.WriteString("; ")
		}
		line.WriteString(part)
	}
	return line.String()
}

// app is what the commands share.
type app struct {
	entries []workers.Entry
	json    bool
}

func (a *app) root() *cobra.Command {
	root := &cobra.Command{
		Use:   "app",
		Short: "Scheduled jobs, exactly once per slot, on any number of replicas, with nothing but Postgres",
		Long: `Ranura runs scheduled jobs exactly once per slot on any number of replicas,
with nothing but Postgres.

Exit status: 0 done (or already done), 1 failed, 2 wrong usage or configuration,
3 an audit found a discrepancy.`,
		SilenceErrors:     true,
		SilenceUsage:      true,
		CompletionOptions: cobra.CompletionOptions{HiddenDefaultCmd: true},
	}
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return flagError(err) })
	root.AddCommand(a.audit(), a.backfill(), a.dev(), a.doctor(), a.migrate(), a.next(), a.run(), a.runs(), a.schedules(), a.serve())
	return root
}

// flagError says how a duration is written, where Go's own error names only the
// unit that it does not know.
func flagError(err error) error {
	invalid, ok := errors.AsType[*pflag.InvalidValueError](err)
	if !ok || invalid.GetFlag().Value.Type() != "duration" {
		return err
	}
	return usage(fmt.Errorf("--%s %q: write the duration as 48h, 30m or 90s; 30 days are 720h", invalid.GetFlag().Name, invalid.GetValue()))
}

// registry reads the crontab; a mistake in it is a wrong configuration.
func (a *app) registry() (*workers.Registry, error) {
	registry, err := workers.NewRegistry(a.entries, time.Now())
	if err != nil {
		return nil, usage(err)
	}
	return registry, nil
}

// failure is an error with its exit status.
type failure struct {
	err    error
	status int
}

func (f failure) Error() string { return f.err.Error() }
func (f failure) Unwrap() error { return f.err }

// usage marks an error as one of usage or configuration.
func usage(err error) error { return failure{err, exitUsage} }

// outcome gives an error of a command its exit status.
func outcome(err error) error {
	_, already := errors.AsType[failure](err)
	switch {
	case err == nil, already:
		return err
	case errors.Is(err, workers.ErrUnknown), errors.Is(err, workers.ErrBadSlot):
		return usage(err)
	default:
		return failure{err, exitFailed}
	}
}

// hint says what to do about errors whose text does not.
func hint(err error) string {
	const undefinedTable = "42P01"
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && refused.Code == undefinedTable {
		return " (run: app migrate up)"
	}
	return ""
}
