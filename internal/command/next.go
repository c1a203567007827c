package command

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/ranura/ranura/internal/periodic"
)

// comingSlot is one line of `app next`.
type comingSlot struct {
	Slot  time.Time `json:"slot"`
	Local time.Time `json:"local"`
	Key   string    `json:"key"`
}

func (a *app) next() *cobra.Command {
	var (
		definition periodic.Definition
		key        string
		count      int
	)
	command := &cobra.Command{
		Use:   "next [NAME]",
		Short: "Print the coming slots of a schedule, or of any cron expression",
		Long: `Print the coming slots: the instant in UTC, the local time and the key.
It needs no database, unless NAME is that of a stored schedule.`,
		Example: `  app next leaderboard_close
  app next --cron '30 2 * * *' --zone America/New_York --from 2026-03-07T00:00:00-05:00 --count 3 --json`,
		Args: cobra.MaximumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			definition.Key = periodic.KeyFormat(key)
			schedule, err := a.scheduleFor(cmd.Context(), args, definition)
			if err != nil {
				return err
			}
			start, err := instantFlag(cmd, "from", time.Now())
			if err != nil {
				return err
			}
			if count < 1 || count > maxCount {
				return usage(fmt.Errorf("--count %d: set it between 1 and %d", count, maxCount))
			}
			for _, warning := range schedule.Warnings() {
				fmt.Fprintln(cmd.ErrOrStderr(), "app: "+warning)
			}
			return outcome(a.printSlots(cmd, schedule, start, count))
		},
	}
	flags := command.Flags()
	flags.StringVar(&definition.Cron, "cron", "", "a cron expression of five fields, @daily and the like, or @every D")
	flags.StringVar(&definition.Zone, "zone", "", "the time zone of --cron, such as America/Mexico_City")
	flags.StringVar(&key, "key-format", "", "the key format of --cron: instant, date, iso_week or month (default instant)")
	flags.String("from", "", "the slots after this instant, such as 2026-05-29T18:00:00-06:00 (default now)")
	flags.IntVar(&count, "count", 5, "how many slots")
	flags.BoolVar(&a.json, "json", false, "print JSON")
	command.MarkFlagsRequiredTogether("cron", "zone")
	return command
}

// maxCount bounds what one command prints.
const maxCount = 10_000

// scheduleFor finds the schedule by its name, or parses the given one.
func (a *app) scheduleFor(ctx context.Context, args []string, definition periodic.Definition) (periodic.Schedule, error) {
	switch {
	case len(args) == 1 && definition.Cron != "":
		return periodic.Schedule{}, usage(errors.New("next: give either NAME or --cron, not both"))
	case len(args) == 1 && definition.Key != "":
		return periodic.Schedule{}, usage(errors.New("next: --key-format goes with --cron: NAME has its own"))
	case len(args) == 1:
		return a.scheduleNamed(ctx, args[0])
	case definition.Cron == "":
		return periodic.Schedule{}, usage(errors.New("next: give NAME, or --cron with --zone"))
	default:
		schedule, err := periodic.Parse("cron", definition)
		if err != nil {
			return periodic.Schedule{}, usage(err)
		}
		return schedule, nil
	}
}

// scheduleNamed asks the database only for what the registry does not have.
func (a *app) scheduleNamed(ctx context.Context, name string) (periodic.Schedule, error) {
	registry, err := a.registry()
	if err != nil {
		return periodic.Schedule{}, err
	}
	scheduled, err := registry.Find(name)
	if _, unset := readConfig(); err == nil || unset != nil {
		return scheduled.Schedule, outcome(err)
	}
	err = withDatabase(ctx, func(ctx context.Context, db *pgxpool.Pool, _ string) error {
		scheduled, err = registry.Lookup(ctx, db, name)
		return err
	})
	return scheduled.Schedule, outcome(err)
}

func (a *app) printSlots(cmd *cobra.Command, schedule periodic.Schedule, start time.Time, count int) error {
	zone, err := time.LoadLocation(schedule.Zone)
	if err != nil {
		return err
	}
	slots := make([]comingSlot, 0, count)
	for at := schedule.Next(start); !at.IsZero() && len(slots) < count; at = schedule.Next(at) {
		slots = append(slots, comingSlot{Slot: at, Local: at.In(zone), Key: schedule.At(at).Key})
	}
	if a.json {
		return printJSON(cmd.OutOrStdout(), slots)
	}
	rows := make([][]string, 0, len(slots))
	for _, slot := range slots {
		rows = append(rows, []string{instant(slot.Slot), slot.Local.Format("Mon 2006-01-02 15:04:05 MST"), slot.Key})
	}
	return printTable(cmd.OutOrStdout(), []string{"SLOT", "LOCAL", "KEY"}, rows)
}

// instantFlag reads a flag that is an instant. A flag that is given and empty is
// a mistake, such as a variable that is not set: it must not mean the default.
func instantFlag(cmd *cobra.Command, name string, byDefault time.Time) (time.Time, error) {
	if !cmd.Flags().Changed(name) {
		return byDefault, nil
	}
	flag, text := "--"+name, cmd.Flags().Lookup(name).Value.String()
	at, err := time.Parse(time.RFC3339, text)
	if err != nil || at.IsZero() {
		return at, usage(fmt.Errorf("%s %q: write the instant as 2026-05-29T18:00:00-06:00", flag, text))
	}
	return at, nil
}
