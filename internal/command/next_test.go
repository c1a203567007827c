package command_test

import (
	"encoding/json"
	"strconv"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestNextDST: the instants of the field cases, as an operator sees them.
func TestNextDST(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		id, cron, zone, from string
		want                 []string
	}{
		{"C1a", "0 2 * * *", "America/Los_Angeles", "2025-03-08T00:00:00-08:00", []string{"2025-03-08T10:00:00Z", "2025-03-09T10:00:00Z", "2025-03-10T09:00:00Z"}},
		{"C1b", "30 2 * * *", "America/Los_Angeles", "2025-03-08T00:00:00-08:00", []string{"2025-03-08T10:30:00Z", "2025-03-09T10:00:00Z", "2025-03-10T09:30:00Z"}},
		{"C1NewYork", "30 2 * * *", "America/New_York", "2026-03-07T00:00:00-05:00", []string{"2026-03-07T07:30:00Z", "2026-03-08T07:00:00Z", "2026-03-09T06:30:00Z"}},
		{"C2", "30 1 * * *", "America/New_York", "2026-10-31T00:00:00-04:00", []string{"2026-10-31T05:30:00Z", "2026-11-01T05:30:00Z", "2026-11-02T06:30:00Z", "2026-11-03T06:30:00Z"}},
		{"C3NewYork", "*/30 1 * * *", "America/New_York", "2026-11-01T00:00:00-04:00", []string{"2026-11-01T05:00:00Z", "2026-11-01T05:30:00Z", "2026-11-01T06:00:00Z", "2026-11-01T06:30:00Z"}},
		{"C4Autumn", "45 1 * * *", "Australia/Lord_Howe", "2026-04-04T00:00:00+11:00", []string{"2026-04-03T14:45:00Z", "2026-04-04T14:45:00Z", "2026-04-05T15:15:00Z"}},
		{"C4Spring", "15 2 * * *", "Australia/Lord_Howe", "2026-10-03T00:00:00+10:30", []string{"2026-10-02T15:45:00Z", "2026-10-03T15:30:00Z", "2026-10-04T15:15:00Z"}},
		{"C5", "@weekly", "America/Santiago", "2026-08-29T00:00:00-04:00", []string{"2026-08-30T04:00:00Z", "2026-09-06T04:00:00Z", "2026-09-13T03:00:00Z"}},
		{"C6", "0 9 * * *", "America/Mexico_City", "2026-04-06T00:00:00-06:00", []string{"2026-04-06T15:00:00Z"}},
		{"C6Tijuana", "0 9 * * *", "America/Tijuana", "2023-03-11T00:00:00-08:00", []string{"2023-03-11T17:00:00Z", "2023-03-12T16:00:00Z"}},
	} {
		t.Run(c.id, func(t *testing.T) {
			t.Parallel()
			require.Equal(t, c.want, next(t, c.cron, c.zone, c.from, len(c.want)))
		})
	}

	t.Run("C3Berlin", func(t *testing.T) {
		t.Parallel()
		berlin, err := time.LoadLocation("Europe/Berlin")
		require.NoError(t, err)
		for day, want := range map[string]int{"2026-10-25": 100, "2026-03-29": 92} {
			midnight, err := time.ParseInLocation("2006-01-02", day, berlin)
			require.NoError(t, err)
			slots := next(t, "*/15 * * * *", "Europe/Berlin", midnight.Add(-time.Second).Format(time.RFC3339), want+1)
			require.Equal(t, midnight.UTC().Format(time.RFC3339), slots[0])
			require.Equal(t, midnight.AddDate(0, 0, 1).UTC().Format(time.RFC3339), slots[want], "the %d slots of %s are followed by midnight", want, day)
		}
	})
}

// next asks the app, without a database.
func next(t *testing.T, cron, zone, from string, count int) []string {
	t.Helper()
	stdout, stderr, status := run(t, nil, "next", "--cron", cron, "--zone", zone, "--from", from, "--count", strconv.Itoa(count), "--json")
	require.Zero(t, status, stderr)
	var coming []struct{ Slot, Local, Key string }
	require.NoError(t, json.Unmarshal([]byte(stdout), &coming))
	slots := make([]string, 0, len(coming))
	for _, c := range coming {
		require.Equal(t, c.Slot, c.Key, "the default key is the instant")
		slots = append(slots, c.Slot)
	}
	return slots
}
