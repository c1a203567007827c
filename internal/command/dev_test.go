package command_test

import (
	"context"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// TestDevReplaysTheIncident runs the whole thing, twice at the same time, with
// a private Postgres each.
func TestDevReplaysTheIncident(t *testing.T) {
	t.Parallel()
	first, second := startDev(t, "--once"), startDev(t, "--once")
	for _, dev := range []*process{first, second} {
		require.NoError(t, dev.Wait())
		out := dev.stdout.String()
		require.Contains(t, out, "In all: 3 notifications, 3 bonuses, 30 Coins, 1 thread")
		require.Contains(t, out, "The ledger is exactly right: everybody was paid once.")
		require.Equal(t, 1, strings.Count(out, "won the claim"))
		require.Equal(t, 5, strings.Count(out, "already ran, by "))
		requireNothingLeft(t, dev)
	}
}

func TestDevEndsInOrder(t *testing.T) {
	t.Parallel()
	dev := startDev(t)
	eventually(t, "the replay is over", func() bool { return strings.Contains(dev.stdout.String(), "Three replicas are running") })
	requireUsable(t, dev)
	require.NoError(t, dev.Process.Signal(syscall.SIGINT))
	require.NoError(t, dev.Wait())
	require.Equal(t, 3, strings.Count(dev.stdout.String(), `msg="replica stopped"`))
	requireNothingLeft(t, dev)
}

// requireUsable takes the database's URL from what is printed, as a reader does.
func requireUsable(t *testing.T, dev *process) {
	t.Helper()
	var url []string
	eventually(t, "the URL is printed", func() bool {
		url = regexp.MustCompile(`export DATABASE_URL='(\S+)'\n`).FindStringSubmatch(dev.stdout.String())
		return url != nil
	})
	conn, err := pgx.Connect(t.Context(), url[1])
	require.NoError(t, err)
	defer conn.Close(context.WithoutCancel(t.Context()))
	var members int
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT count(*) FROM members`).Scan(&members))
	require.Positive(t, members)
}

func TestDevKilledLeavesNothing(t *testing.T) {
	t.Parallel()
	dev := startDev(t)
	eventually(t, "the replicas run", func() bool { return strings.Count(dev.stdout.String(), `msg="replica started"`) == 3 })
	if _, err := os.Stat("/proc/self/environ"); err == nil {
		require.True(t, anyProcessWith(mark(dev)), "what must be gone later is there now")
	}
	require.NoError(t, dev.Process.Kill())
	_ = dev.Wait()
	requireNothingLeft(t, dev)
}

func TestDevRefusesAFullDatabase(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	_, err := db.Exec(t.Context(), `INSERT INTO members (handle, name, joined_on) VALUES ('ana', 'Ana', '2020-01-01')`)
	require.NoError(t, err)
	_, stderr, status := run(t, db, "dev", "--once")
	require.Equal(t, 2, status)
	require.Contains(t, stderr, "app dev wants an empty database")
}

// startDev gives the process a temporary folder of its own, in which what it
// leaves behind would show, and which marks the processes that it starts.
func startDev(t *testing.T, flags ...string) *process {
	t.Helper()
	folder, err := os.MkdirTemp("", "ranura-dev-test-") //nolint:usetesting // t.TempDir's path is too deep for the account that runs Postgres
	require.NoError(t, err)
	require.NoError(t, os.Chmod(folder, 0o777|os.ModeSticky))
	t.Cleanup(func() { _ = os.RemoveAll(folder) })
	return start(t, nil, []string{"TMPDIR=" + folder}, append([]string{"dev"}, flags...)...)
}

// mark is the variable by which a process of this app dev is known.
func mark(dev *process) (mark string) {
	for _, variable := range dev.Env {
		if strings.HasPrefix(variable, "TMPDIR=") {
			mark = variable // the last one counts
		}
	}
	return mark
}

// requireNothingLeft waits until no process has the folder in its environment
// and the folder is empty.
func requireNothingLeft(t *testing.T, dev *process) {
	t.Helper()
	eventually(t, "nothing is left", func() bool {
		left, err := os.ReadDir(strings.TrimPrefix(mark(dev), "TMPDIR="))
		return err == nil && len(left) == 0 && !anyProcessWith(mark(dev))
	})
}

func anyProcessWith(variable string) bool {
	environments, _ := filepath.Glob("/proc/[0-9]*/environ") // none on systems without /proc: there the folder must do
	for _, environment := range environments {
		if content, err := os.ReadFile(environment); err == nil && strings.Contains(string(content), variable+"\x00") {
			return true
		}
	}
	return false
}
