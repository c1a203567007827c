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

var anyTime = time.Date(2026, time.May, 29, 18, 0, 0, 0, time.UTC)

func TestAll(t *testing.T) {
	t.Parallel()
	registry, err := NewRegistry(All(), anyTime)
	require.NoError(t, err)
	_, err = registry.RiverWorkers(&Runner{Log: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	require.Len(t, registry.Entries(), len(All()))

	var names []string
	for _, schedule := range registry.Schedules() {
		names = append(names, schedule.Name)
	}
	require.Len(t, names, len(All()))
	require.True(t, slices.IsSorted(names), names)

	// River asks the zero value for the kind.
	for _, entry := range All() {
		require.Equal(t, entry.worker.Name(), entry.args(periodic.Slot{}).Kind())
	}
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
		}, anyTime)
		require.EqualError(t, err, strings.Join([]string{
			`schedule "anniversary": cron "0 25 * * *": hour "25": use 0-23: end of range (25) above maximum (23): "25"`,
			`schedule "leaderboard_close": cron "0 18 * * FRI": zone "Mexico/City": write an IANA name, such as "Europe/Berlin": unknown time zone Mexico/City`,
			`schedule "squad_health": key format "iso_week" gives 2026-05-30T06:00:00Z and 2026-05-31T06:00:00Z of "@daily" the one key "2026-W22": use "instant" or a rarer cron`,
			`schedule "weekly_digest": two workers have this name`,
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
