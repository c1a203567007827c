package command

import (
	"errors"
	"fmt"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"

	"github.com/ranura/ranura/internal/periodic"
)

func (a *app) add() *cobra.Command {
	var (
		definition periodic.Definition
		action     periodic.Action
	)
	command := &cobra.Command{
		Use:   "add NAME (--sql STATEMENT | --enqueue KIND --args JSON | --http ENDPOINT PATH [--body JSON])",
		Short: "Add a schedule that no code has, and say what it runs",
		Long: `Add a schedule that no code has, and say what it runs: one SQL statement, a task
to enqueue, or an endpoint to call. All replicas have it within 2 seconds. Nothing
is written unless everything is right; docs/stored.md says more, and how to do it
in SQL.

In the statement, $slot is the slot's instant (timestamptz) and $key its key
(text). It runs in the transaction of the claim, with the rights of the service.
An endpoint is one that the configuration names; without --body it is sent the
slot.`,
		Example: `  app schedules add purge_drafts --cron '0 4 * * *' --zone Europe/Berlin \
    --sql "DELETE FROM drafts WHERE edited_at < \$slot - interval '30 days'"
  app schedules add remind --cron '0 9 * * MON' --zone UTC --enqueue notify_member \
    --args '{"member_id": 7, "kind": "reminder", "period": "monday", "text": "Hola"}'
  app schedules add friday --cron '0 18 * * FRI' --zone America/Mexico_City --http api /jobs/friday`,
		Args: cobra.RangeArgs(1, 2),
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := oneAction(cmd.Flags(), len(args) == 2); err != nil {
				return usage(err)
			}
			if len(args) == 2 {
				action.Path = args[1]
			}
			return outcome(a.store(cmd, args[0], definition, action))
		},
	}
	flags := command.Flags()
	flags.StringVar(&action.SQL, "sql", "", "the statement to run")
	flags.StringVar(&action.Kind, "enqueue", "", "the task to enqueue")
	flags.StringVar(&action.Args, "args", "", "the arguments of --enqueue, a JSON object")
	flags.StringVar(&action.Endpoint, "http", "", "the endpoint to call, at PATH")
	flags.StringVar(&action.Body, "body", "", "the body of --http, JSON (default the slot)")
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
func oneAction(flags *pflag.FlagSet, path bool) error {
	given := 0
	for _, name := range []string{"sql", "enqueue", "http"} {
		if !flags.Changed(name) {
			continue
		}
		if given++; flags.Lookup(name).Value.String() == "" {
			return fmt.Errorf(`schedules add: --%s "": it is empty`, name)
		}
	}
	switch {
	case given != 1:
		return errors.New("schedules add: say what it runs: one of --sql, --enqueue and --http")
	case flags.Changed("enqueue") != flags.Changed("args"):
		return errors.New("schedules add: --enqueue and --args go together")
	case flags.Changed("http") != path, flags.Changed("body") && !path:
		return errors.New("schedules add: --http and PATH go together, as in: NAME --http api /jobs/friday")
	}
	return nil
}
