package periodic_test

import (
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// TestC6EverybodyKnowsTheLaw: Mexico gave up summer time in 2022, its border
// did not. Zone data that is older is an hour off, and must be loud.
func TestC6EverybodyKnowsTheLaw(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	for _, c := range []struct{ local, zone, want string }{
		{"2026-04-06 09:00", "America/Mexico_City", "2026-04-06T15:00:00Z"},
		{"2023-03-11 09:00", "America/Tijuana", "2023-03-11T17:00:00Z"},
		{"2023-03-12 09:00", "America/Tijuana", "2023-03-12T16:00:00Z"},
	} {
		want, err := time.Parse(time.RFC3339, c.want)
		require.NoError(t, err)

		schedule, err := periodic.Parse("nine", periodic.Definition{Cron: "0 9 * * *", Zone: c.zone})
		require.NoError(t, err)
		require.Equal(t, want, schedule.Next(want.Add(-time.Hour)), "Go")

		var postgres time.Time
		require.NoError(t, db.QueryRow(t.Context(), `SELECT $1::timestamp AT TIME ZONE $2`, c.local, c.zone).Scan(&postgres))
		require.Equal(t, want, postgres.UTC(), "Postgres")

		if python, err := exec.LookPath("python3"); err == nil { // it is on the machines of CI
			const program = `
import sys, datetime, zoneinfo
local = datetime.datetime.fromisoformat(sys.argv[1]).replace(tzinfo=zoneinfo.ZoneInfo(sys.argv[2]))
print(local.astimezone(datetime.timezone.utc).strftime("%Y-%m-%dT%H:%M:%SZ"))`
			answer, err := exec.CommandContext(t.Context(), python, "-c", program, c.local, c.zone).Output()
			require.NoError(t, err)
			require.Equal(t, c.want, strings.TrimSpace(string(answer)), "Python")
		}
	}
}

// TestC8SlotsComeFromOnePlace: Go, Python and SQL read the same local time
// differently around a clock change. Only this package turns local times into
// slots; no SQL and no Python of ours does.
func TestC8SlotsComeFromOnePlace(t *testing.T) {
	t.Parallel()
	// From a local time to an instant; the other direction has one answer.
	derives := regexp.MustCompile(`(?i)AT TIME ZONE|\btimezone\(|make_timestamptz|tzinfo\s*=[^=]|\.localize\(`)
	read := 0
	require.NoError(t, filepath.WalkDir("../..", func(path string, entry fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case strings.HasSuffix(path, "_test.go"), strings.Contains(path, "/tests/"), entry.IsDir():
			return nil
		case !strings.HasSuffix(path, ".go") && !strings.HasSuffix(path, ".sql") && !strings.HasSuffix(path, ".py"):
			return nil
		}
		content, err := os.ReadFile(path)
		require.NoError(t, err)
		require.Empty(t, derives.FindString(string(content)), path)
		read++
		return nil
	}))
	require.Greater(t, read, 50, "the project's files were found")
}
