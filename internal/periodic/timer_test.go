package periodic

import (
	"testing"
	"time"

	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"
)

type probeArgs struct {
	Key  string    `json:"key"  river:"unique"`
	Slot time.Time `json:"slot"`
}

func (probeArgs) Kind() string { return "probe" }

func newTimer(t *testing.T, d Definition) *timer {
	t.Helper()
	return &timer{entry: newEntry(t, d)}
}

func newEntry(t *testing.T, d Definition) Entry {
	t.Helper()
	schedule, err := Parse("probe", d)
	require.NoError(t, err)
	return Entry{Schedule: schedule, Args: func(slot Slot) river.JobArgs { return probeArgs{slot.Key, slot.At} }}
}

func TestTimerRemembersTheSlotItIsArmedFor(t *testing.T) {
	t.Parallel()

	// River fires up to 100 ms early and arbitrarily late, and asks for the
	// next slot with the last one in hand.
	t.Run("FiveInARowWhateverTheClockSays", func(t *testing.T) {
		t.Parallel()
		timer := newTimer(t, Definition{Cron: "*/15 * * * *", Zone: "UTC"})
		armed := timer.Next(time.Date(2026, time.May, 29, 23, 46, 0, 0, time.UTC))
		for _, want := range []string{
			"2026-05-30T00:00:00Z", "2026-05-30T00:15:00Z", "2026-05-30T00:30:00Z", "2026-05-30T00:45:00Z", "2026-05-30T01:00:00Z",
		} {
			args, _ := timer.job()
			require.Equal(t, probeArgs{want, armed}, args)
			require.Equal(t, want, armed.Format(time.RFC3339))
			armed = timer.Next(armed)
		}
	})

	t.Run("A6AskingAgainSkipsNoWeek", func(t *testing.T) {
		t.Parallel()
		timer := newTimer(t, Definition{Cron: "0 6 * * 1", Zone: "Europe/Prague"})
		armed := timer.Next(time.Date(2026, time.August, 1, 0, 0, 0, 0, time.UTC))
		for _, want := range []string{"2026-08-03T04:00:00Z", "2026-08-10T04:00:00Z", "2026-08-17T04:00:00Z"} {
			for range 3 { // two leaders, or one that looks again
				args, _ := timer.job()
				require.Equal(t, probeArgs{want, armed}, args)
			}
			armed = timer.Next(armed)
		}
	})

	// A new leader's term arms the timer again, from its own present.
	t.Run("ANewTermBeginsAtItsOwnPresent", func(t *testing.T) {
		t.Parallel()
		timer := newTimer(t, Definition{Cron: "@hourly", Zone: "UTC"})
		timer.Next(time.Date(2026, time.May, 29, 10, 30, 0, 0, time.UTC))
		timer.Next(time.Date(2026, time.May, 29, 17, 30, 0, 0, time.UTC))
		args, _ := timer.job()
		require.Equal(t, "2026-05-29T18:00:00Z", args.(probeArgs).Key)
	})
}
