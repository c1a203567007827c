package command_test

import (
	"encoding/pem"
	"net/http"
	"net/http/httptest"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// TestStoredHTTP: an endpoint is called for each slot of a schedule that was
// added while three replicas run, until it is removed.
func TestStoredHTTP(t *testing.T) {
	t.Parallel()
	receiver := postgrestest.New(t)
	execute(t, receiver, `CREATE TABLE calls (key text, path text)`)
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if _, err := receiver.Exec(r.Context(), `INSERT INTO calls VALUES ($1, $2)`, r.Header.Get("Idempotency-Key"), r.URL.Path); err != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(server.Close)
	authority := filepath.Join(t.TempDir(), "authority.pem") // that the replicas trust
	require.NoError(t, os.WriteFile(authority, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}), 0o600))
	environ := []string{"SSL_CERT_FILE=" + authority, "ENDPOINT_APP_URL=" + server.URL, "ENDPOINT_APP_SECRET=whsec_Y2FuYXJ5LWNhbmFyeS1jYW5hcnktY3VycmVudA=="}

	db := newTown(t)
	for range 3 {
		replica := start(t, db, environ, "serve")
		eventually(t, "a replica starts", func() bool { return strings.Contains(replica.stderr.String(), `"replica started"`) })
	}
	added := start(t, db, environ, "schedules", "add", "friday", "--cron", "@every 1s", "--zone", "UTC", "--http", "app", "/jobs/friday")
	require.NoError(t, added.Wait())
	unknown := start(t, db, environ, "schedules", "add", "monday", "--cron", "@every 1s", "--zone", "UTC", "--http", "api", "/jobs/monday")
	require.Error(t, unknown.Wait())
	require.Equal(t, "app: schedule \"monday\": unknown endpoint \"api\": configured here: app\n", unknown.stderr.String())
	require.Equal(t, 2, unknown.ProcessState.ExitCode())

	const ran = `SELECT count(*) FROM worker_runs WHERE name = 'friday' AND outcome = 'ran' AND output->>'status' = '200'`
	eventually(t, "it runs", func() bool { return count(t, db, ran) >= 4 })
	require.Contains(t, do(t, db, "schedules", "show", "friday"), "http app /jobs/friday")
	do(t, db, "schedules", "rm", "friday")
	eventually(t, "what was in the queue is over", func() bool {
		return count(t, db, `SELECT count(*) FROM river_job WHERE kind = 'stored_schedule' AND finalized_at IS NULL`) == 0
	})
	require.Equal(t, count(t, db, ran), count(t, receiver, `SELECT count(*) FROM calls WHERE path = '/jobs/friday'`))
	require.Equal(t, count(t, db, ran), count(t, receiver, `SELECT count(DISTINCT key) FROM calls WHERE key ~ '^friday/20.*Z$'`), "each once")
	do(t, db, "audit")
}
