package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/ranura/ranura/internal/delivery"
	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

// store checks the definition before it needs a database, and the rest in the
// transaction that writes.
func (a *app) store(cmd *cobra.Command, name string, definition periodic.Definition, action periodic.Action) error {
	registry, err := a.registry()
	if err != nil {
		return err
	}
	schedule, err := periodic.Parse(name, definition)
	if err == nil {
		err = schedule.CheckKeys(time.Now())
	}
	if _, unknown := registry.Find(name); err == nil && unknown == nil {
		err = errTaken(name, periodic.Code)
	}
	if err != nil {
		return usage(err)
	}
	for _, warning := range schedule.Warnings() {
		fmt.Fprintln(cmd.ErrOrStderr(), "app: "+warning)
	}
	return withRunner(cmd.Context(), periodic.DefaultTimeout, func(ctx context.Context, db *pgxpool.Pool, runner *workers.Runner) error {
		if action.Endpoint != "" {
			if err := runner.Endpoints.Check(delivery.Request{Endpoint: action.Endpoint, Path: action.Path}); err != nil {
				return usage(fmt.Errorf("schedule %q: %w", name, err))
			}
		}
		err := pgx.BeginFunc(ctx, db, func(tx pgx.Tx) error { return add(ctx, tx, schedule, definition, action) })
		if err != nil {
			return err
		}
		_, err = fmt.Fprintf(cmd.OutOrStdout(), "%s: added, first slot %s\n", name, instant(schedule.Next(time.Now())))
		return err
	})
}

func add(ctx context.Context, tx pgx.Tx, schedule periodic.Schedule, definition periodic.Definition, action periodic.Action) error {
	known, err := periodic.AllKnown(ctx, tx, schedule.Name)
	if err != nil {
		return err
	}
	if taken, ok := known[schedule.Name]; ok {
		return usage(errTaken(schedule.Name, taken.Source))
	}
	wrong, err := workers.Vet(ctx, tx, action)
	if err != nil {
		return err
	}
	if wrong != "" {
		return usage(fmt.Errorf("schedule %q: %s", schedule.Name, wrong))
	}
	err = periodic.Add(ctx, tx, schedule, definition, action, operator())
	refused, ok := errors.AsType[*pgconn.PgError](err)
	switch {
	case ok && refused.Code == pgerrcode.UniqueViolation: // somebody was faster
		return usage(errTaken(schedule.Name, periodic.Stored))
	case ok && pgerrcode.IsDataException(refused.Code):
		return usage(errors.New(refused.Message))
	}
	return err
}

func errTaken(name string, by periodic.Source) error {
	if by == periodic.Stored {
		return fmt.Errorf("schedule %q: there is one of this name: remove it first (app schedules rm %s), or change it in SQL", name, name)
	}
	return fmt.Errorf("schedule %q: the name is that of a schedule in the code: choose another", name)
}
