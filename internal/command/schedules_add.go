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
	"github.com/spf13/pflag"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

func (a *app) add() *cobra.Command {
	var (
		definition periodic.Definition
		action     periodic.Action
	)
	command := &cobra.Command{
		Use:   "add NAME (--sql STATEMENT | --enqueue KIND --args JSON)",
		Short: "Add a schedule that no code has, and say what it runs",
		Long: `Add a schedule that no code has, and say what it runs: one SQL statement, or a
task to enqueue. All replicas have it within 2 seconds. Nothing is written unless
everything is right; docs/stored.md says more, and how to do it in SQL.

In the statement, $slot is the slot's instant (timestamptz) and $key its key
(text). It runs in the transaction of the claim, with the rights of the service.`,
		Example: `  app schedules add purge_drafts --cron '0 4 * * *' --zone Europe/Berlin \
    --sql "DELETE FROM drafts WHERE edited_at < \$slot - interval '30 days'"
  app schedules add remind --cron '0 9 * * MON' --zone UTC --enqueue notify_member \
    --args '{"member_id": 7, "kind": "reminder", "period": "monday", "text": "Hola"}'`,
		Args: cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneAction(cmd.Flags()); err != nil {
				return usage(err)
			}
			return outcome(a.store(cmd, args[0], definition, action))
		},
	}
	flags := command.Flags()
	flags.StringVar(&action.SQL, "sql", "", "the statement to run")
	flags.StringVar(&action.Kind, "enqueue", "", "the task to enqueue")
	flags.StringVar(&action.Args, "args", "", "the arguments of --enqueue, a JSON object")
	definitionFlags(flags, &definition)
	_ = command.MarkFlagRequired("cron") // they exist: defined above
	_ = command.MarkFlagRequired("zone")
	return command
}

// definitionFlags are those of a definition; one that is not given is the default.
func definitionFlags(flags *pflag.FlagSet, d *periodic.Definition) {
	flags.StringVar(&d.Cron, "cron", "", "five fields, @daily and the like, or @every D")
	flags.StringVar(&d.Zone, "zone", "", "the time zone, such as America/Mexico_City")
	flags.StringVar((*string)(&d.Key), "key-format", "", "instant, date, iso_week or month (default instant)")
	flags.StringVar((*string)(&d.Gap), "gap", "", "what becomes of a wall time that the zone skips: run or skip")
	flags.StringVar((*string)(&d.Fold), "fold", "", "of one that it repeats: first, second or both")
	flags.StringVar((*string)(&d.CatchUp), "catch-up", "", "which missed slots are run: all, latest or none (default all)")
	flags.DurationVar(&d.MaxLateness, "max-lateness", 0, "skip a slot that is later than this (default 168h)")
	flags.IntVar(&d.MaxCount, "max-count", 0, "run at most so many missed slots at once, the newest (default 100)")
	flags.StringVar((*string)(&d.Overlap), "overlap", "", "while another of its slots runs: allow, skip or wait (default allow)")
	flags.DurationVar(&d.GiveUpAfter, "give-up-after", 0, "how long a failing slot is tried (default 24h)")
	flags.DurationVar(&d.Timeout, "timeout", 0, "how long one attempt may take (default 1m)")
	flags.Int64Var(&d.MinEffects, "min-effects", 0, "a run that writes fewer rows has failed")
}

// oneAction refuses what says twice or nowhere what to run.
func oneAction(flags *pflag.FlagSet) error {
	switch sql, enqueue := flags.Changed("sql"), flags.Changed("enqueue"); {
	case sql == enqueue:
		return errors.New("schedules add: give one of --sql and --enqueue")
	case enqueue != flags.Changed("args"):
		return errors.New("schedules add: --enqueue and --args go together")
	}
	return nil
}

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
	return withDatabase(cmd.Context(), func(ctx context.Context, db *pgxpool.Pool, _ string) error {
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
