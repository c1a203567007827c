package command

import (
	"context"
	"encoding/json"
	"fmt"
	"io"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

// scheduleDetails is the result of `app schedules show`.
type scheduleDetails struct {
	scheduleState

	KeyFormat   periodic.KeyFormat   `json:"key_format"`
	Gap         periodic.Gap         `json:"gap"`
	Fold        periodic.Fold        `json:"fold"`
	CatchUp     periodic.CatchUpRule `json:"catch_up"`
	MaxLateness string               `json:"max_lateness"`
	MaxCount    int                  `json:"max_count"`
	Overlap     periodic.Overlap     `json:"overlap"`
	GiveUpAfter string               `json:"give_up_after"`
	Timeout     string               `json:"timeout"`
	MinEffects  int64                `json:"min_effects"`
	AddedBy     *string              `json:"added_by"` // of a stored schedule, as what follows
	SQL         string               `json:"sql,omitempty"`
	Enqueue     string               `json:"enqueue,omitempty"`
	Args        json.RawMessage      `json:"args,omitempty"`
	HTTP        string               `json:"http,omitempty"`
	Path        string               `json:"path,omitempty"`
	Body        json.RawMessage      `json:"body,omitempty"`
}

func (a *app) show() *cobra.Command {
	command := &cobra.Command{
		Use:     "show NAME",
		Short:   "Print all about a schedule: what it runs, when, by which rules, who added it, why it is refused",
		Example: `  app schedules show purge_drafts --json`,
		Args:    cobra.ExactArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			registry, err := a.registry()
			if err != nil {
				return err
			}
			return outcome(withDatabase(cmd.Context(), func(ctx context.Context, db *pgxpool.Pool, _ string) error {
				states, known, err := scheduleStates(ctx, db, registry, args[0])
				if err != nil {
					return err
				}
				if len(states) == 0 {
					return fmt.Errorf("%w %q: app schedules lists them", workers.ErrUnknown, args[0])
				}
				action, err := periodic.ActionOf(ctx, db, args[0])
				if err != nil {
					return err
				}
				details := detailsOf(states[0], known[args[0]], action)
				if a.json {
					return printJSON(cmd.OutOrStdout(), details)
				}
				return printDetails(cmd.OutOrStdout(), details)
			}))
		},
	}
	command.Flags().BoolVar(&a.json, "json", false, "print JSON")
	return command
}

func detailsOf(state scheduleState, k periodic.Known, action periodic.Action) scheduleDetails {
	return scheduleDetails{
		scheduleState: state,
		KeyFormat:     k.Key, Gap: k.Gap, Fold: k.Fold, CatchUp: k.CatchUp, MaxLateness: k.MaxLateness.String(), MaxCount: k.MaxCount,
		Overlap: k.Overlap, GiveUpAfter: k.GiveUpAfter.String(), Timeout: k.Timeout.String(), MinEffects: k.MinEffects, AddedBy: k.AddedBy,
		SQL: action.SQL, Enqueue: action.Kind, Args: json.RawMessage(action.Args),
		HTTP: action.Endpoint, Path: action.Path, Body: json.RawMessage(action.Body),
	}
}

// printDetails leaves out what is not there.
func printDetails(out io.Writer, d scheduleDetails) error {
	rows := [][]string{}
	add := func(name string, value any) {
		switch text := fmt.Sprint(value); text {
		case "", "[]", "<nil>":
		default:
			rows = append(rows, []string{name, text})
		}
	}
	at := func(t *time.Time) string {
		if t == nil {
			return ""
		}
		return instant(*t)
	}
	add("state", d.State)
	add("refused", deref(d.Note))
	add("runs", d.Runs)
	add("sql", d.SQL)
	add("args", string(d.Args))
	add("body", string(d.Body))
	add("cron", d.Cron)
	add("zone", d.Zone)
	add("key format", d.KeyFormat)
	add("gap", d.Gap)
	add("fold", d.Fold)
	add("catch up", fmt.Sprintf("%s, at most %d, not later than %s", d.CatchUp, d.MaxCount, d.MaxLateness))
	add("overlap", d.Overlap)
	add("give up after", d.GiveUpAfter)
	add("timeout", d.Timeout)
	add("min effects", d.MinEffects)
	add("known since", at(d.KnownSince))
	add("added by", deref(d.AddedBy))
	add("next slot", at(d.Next))
	add("last slot", at(d.Last))
	add("paused by", deref(d.PausedBy))
	add("paused because", deref(d.Reason))
	return printTable(out, []string{d.Name, ""}, rows)
}

func deref(text *string) string {
	if text == nil {
		return ""
	}
	return *text
}
