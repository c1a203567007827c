package periodic_test

import (
	"os"
	"os/exec"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
)

// TestC7TheHostsZoneDoesNotMatter runs itself on a host that says Berlin.
func TestC7TheHostsZoneDoesNotMatter(t *testing.T) {
	t.Parallel()
	const marker = "PERIODIC_TEST_CHILD"
	if os.Getenv(marker) == "" {
		child := exec.Command(os.Args[0], "-test.run=^TestC7TheHostsZoneDoesNotMatter$", "-test.v")
		child.Env = []string{marker + "=1", "TZ=Europe/Berlin"}
		out, err := child.CombinedOutput()
		require.NoError(t, err, "%s", out)
		require.Contains(t, string(out), "--- PASS: TestC7TheHostsZoneDoesNotMatter")
		return
	}
	_, offset := at(t, "2026-06-01").In(time.Local).Zone()
	require.Equal(t, 2*3600, offset, "the host is in Berlin")
	utc := parse(t, periodic.Definition{Cron: "0 9 * * *", Zone: "UTC"})
	require.Equal(t, at(t, "2026-06-01T09:00"), utc.Next(at(t, "2026-06-01").In(time.Local)))
	mexico := parse(t, periodic.Definition{Cron: "0 9 * * *", Zone: "America/Mexico_City"})
	require.Equal(t, at(t, "2026-04-06T15:00"), mexico.Next(at(t, "2026-04-06").In(time.Local)))
}

func TestC6ZoneDataIsNotStale(t *testing.T) {
	t.Parallel()
	require.Regexp(t, `^202[5-9][a-z] or newer$`, periodic.ZoneData())
}
