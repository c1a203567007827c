package postgrestest_test

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"regexp"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"

	"github.com/ranura/ranura/internal/postgres"
	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// The package's behaviour on a server of somebody else's, seen from outside.
func TestOnALastingServer(t *testing.T) {
	t.Parallel()
	server, err := postgres.Start(t.Context(), "fsync=off")
	require.NoError(t, err)
	defer func() { _ = server.Stop() }()
	admin, err := pgx.Connect(t.Context(), server.URL)
	require.NoError(t, err)
	defer admin.Close(t.Context())
	// Two test binaries at once, as go test runs packages: one template, no clash.
	outputs := make([]string, 2)
	var binaries errgroup.Group
	for i := range outputs {
		binaries.Go(func() error {
			cmd := exec.CommandContext(t.Context(), os.Args[0], "-test.run=^TestFailing$")
			cmd.Env = append(os.Environ(), failing+"=1", "TEST_DATABASE_URL="+server.URL)
			out, err := cmd.CombinedOutput()
			outputs[i] = string(out)
			if err == nil {
				return errors.New("the failing test passed")
			}
			return nil
		})
	}
	require.NoError(t, binaries.Wait())

	c := admin.Config()
	for _, out := range outputs {
		hint := regexp.MustCompile(`database kept: psql -h (\S+) -p (\d+) -U (\S+) -d (test_\S+)`).FindStringSubmatch(out)
		require.NotNil(t, hint, out)
		require.Equal(t, []string{c.Host, fmt.Sprint(c.Port), c.User}, hint[1:4])
		require.NotContains(t, out, c.Password)
		var kept bool
		require.NoError(t, admin.QueryRow(t.Context(), `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`, hint[4]).Scan(&kept))
		require.True(t, kept)
	}
}

const failing = "RANURA_TEST_FAILING"

// TestFailing fails for TestOnALastingServer only.
func TestFailing(t *testing.T) {
	t.Parallel()
	if os.Getenv(failing) == "" {
		return
	}
	postgrestest.New(t)
	t.Error("as asked")
}
