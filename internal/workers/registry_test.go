package workers

import (
	"context"
	"log/slog"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
)

// nicknamed answers Name from a field, so its zero value, which River asks for
// the kind, answers something else.
type nicknamed struct{ name string }

func (n nicknamed) Name() string { return n.name }

func (nicknamed) Run(context.Context, pgx.Tx, periodic.Slot) error { return nil }

type named struct{}

func (named) Name() string { return "named" }

func (named) Run(context.Context, pgx.Tx, periodic.Slot) error { return nil }

// errand is a task that may have any name.
type errand struct{ name string }

func (e errand) Name() string { return e.name }

func (errand) Run(context.Context, pgx.Tx) error { return nil }

var anyTime = time.Date(2026, time.May, 29, 18, 0, 0, 0, time.UTC)

func TestAll(t *testing.T) {
	t.Parallel()
	registry, err := NewRegistry(All(), anyTime)
	require.NoError(t, err)
	_, err = registry.RiverWorkers(&Runner{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.Len(t, registry.Kinds(), len(All())+1, "and that of the stored schedules")

	var schedules, tasks []string
	for _, entry := range All() {
		if entry.onDemand != nil {
			tasks = append(tasks, entry.name())
			continue
		}
		require.Empty(t, tasks, "what runs on demand comes last")
		schedules = append(schedules, entry.name())
		require.Equal(t, entry.name(), entry.args(periodic.Slot{}).Kind(), "River asks the zero value for the kind")
	}
	require.True(t, slices.IsSorted(schedules), schedules)
	require.True(t, slices.IsSorted(tasks), tasks)
	require.Len(t, registry.Entries(), len(schedules))
	require.Len(t, registry.Schedules(), len(schedules))
}

func TestNewRegistry(t *testing.T) {
	t.Parallel()

	t.Run("ReportsAllMistakesAtOnce", func(t *testing.T) {
		t.Parallel()
		_, err := NewRegistry([]Entry{
			On(Anniversary{}, periodic.Definition{Cron: "0 25 * * *", Zone: mexicoCity}),
			On(LeaderboardClose{}, periodic.Definition{Cron: "0 18 * * FRI", Zone: "Mexico/City"}),
			On(SquadHealth{}, periodic.Definition{Cron: "@daily", Zone: mexicoCity, Key: periodic.ISOWeek}),
			On(WeeklyDigest{}, periodic.Definition{Cron: "@weekly", Zone: mexicoCity}),
			On(WeeklyDigest{}, periodic.Definition{Cron: "@daily", Zone: mexicoCity}),
			OnDemand(errand{"weekly_digest"}),
			OnDemand(errand{"Paga 🪙"}),
			OnDemand(errand{"pay"}),
		}, anyTime)
		require.EqualError(t, err, strings.Join([]string{
			`schedule "anniversary": cron "0 25 * * *": hour "25": use 0-23: end of range (25) above maximum (23): "25"`,
			`schedule "leaderboard_close": cron "0 18 * * FRI": zone "Mexico/City": write an IANA name, such as "Europe/Berlin": unknown time zone Mexico/City`,
			`schedule "squad_health": key format "iso_week" gives 2026-05-30T06:00:00Z and 2026-05-31T06:00:00Z of "@daily" the one key "2026-W22": use "instant" or a rarer cron`,
			`schedule "weekly_digest": two workers have this name`,
			`task "weekly_digest": two workers have this name`,
			`task "Paga 🪙": name must be 1 to 100 of a-z, 0-9, _, . and -`,
			`task "pay": its zero value answers Name with "": a worker's name is a constant`,
		}, "\n"))
	})

	t.Run("AnInvalidLineDoesNotFreeItsName", func(t *testing.T) {
		t.Parallel()
		_, err := NewRegistry([]Entry{
			On(named{}, periodic.Definition{Cron: "@never", Zone: "UTC"}),
			On(named{}, periodic.Definition{Cron: "@daily", Zone: "UTC"}),
		}, anyTime)
		require.ErrorContains(t, err, `schedule "named": cron "@never"`)
		require.ErrorContains(t, err, `schedule "named": two workers have this name`)
	})
}

func TestANameIsAConstant(t *testing.T) {
	t.Parallel()
	registry, err := NewRegistry([]Entry{On(nicknamed{"ana"}, periodic.Definition{Cron: "@daily", Zone: "UTC"})}, anyTime)
	require.ErrorContains(t, err, `schedule "ana": the zero value of its worker answers Name with ""`)
	require.Nil(t, registry)
}

func TestFind(t *testing.T) {
	t.Parallel()
	registry, err := NewRegistry([]Entry{
		On(Anniversary{}, periodic.Definition{Cron: "@daily", Zone: "UTC"}),
		On(LeaderboardClose{}, periodic.Definition{Cron: "0 18 * * FRI", Zone: "UTC"}),
	}, anyTime)
	require.NoError(t, err)

	found, err := registry.Find("leaderboard_close")
	require.NoError(t, err)
	require.Equal(t, LeaderboardClose{}, found.worker)
	require.Equal(t, "0 18 * * FRI", found.Cron)

	_, err = registry.Find("leaderboard")
	require.ErrorIs(t, err, ErrUnknown)
	require.EqualError(t, err, `unknown schedule "leaderboard": the registry has anniversary, leaderboard_close`)
}
