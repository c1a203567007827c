package command_test

import (
	"context"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/delivery"
	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// calling has an endpoint do its work, and then waits for a lock that the test
// holds: between the endpoint's 200 and its own commit.
type calling struct{}

func (calling) Name() string { return "calling" }

func (calling) Request(periodic.Slot) delivery.Request {
	return delivery.Request{Endpoint: "app", Path: "/pay"}
}

func (calling) Run(ctx context.Context, tx pgx.Tx, _ periodic.Slot) error {
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock_shared($1)`, stuckLock)
	return err
}

// E5, over HTTP: a replica is killed between the endpoint's 200 and its own
// commit. The endpoint hears of the slot twice, under one key, and pays once.
func TestKilledAfterTheEndpointsAnswer(t *testing.T) {
	t.Parallel()
	receiver := postgrestest.New(t) // another service, with a database of its own
	_, err := receiver.Exec(t.Context(), `CREATE TABLE payments (coins int); CREATE TABLE calls (key text, id text)`)
	require.NoError(t, err)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		key := claim.Key{Name: "calls", Key: r.Header.Get("Idempotency-Key")}
		_, heard := receiver.Exec(r.Context(), `INSERT INTO calls VALUES ($1, $2)`, key.Key, r.Header.Get("Webhook-Id"))
		_, paid := claim.Run(r.Context(), receiver, key, claim.Meta{Source: claim.External}, func(ctx context.Context, tx pgx.Tx) error {
			_, err := tx.Exec(ctx, `INSERT INTO payments VALUES (10)`)
			return err
		})
		if heard != nil || paid != nil {
			w.WriteHeader(http.StatusInternalServerError)
		}
	}))
	t.Cleanup(server.Close)

	db := postgrestest.New(t)
	holder, err := db.Begin(t.Context())
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), `SELECT pg_advisory_xact_lock($1)`, stuckLock)
	require.NoError(t, err)
	environ := []string{asApp + "=calls", "ENDPOINT_APP_URL=" + server.URL, "ENDPOINT_APP_SECRET=whsec_Y2FuYXJ5LWNhbmFyeS1jYW5hcnktY3VycmVudA=="}
	victim := start(t, db, environ, "serve")
	eventually(t, "the schema is there", func() bool {
		return count(t, db, `SELECT count(*) FROM worker_schedules WHERE name = 'calling'`) == 1
	})
	_, err = db.Exec(t.Context(), `
		INSERT INTO river_job (kind, args, queue, max_attempts)
		VALUES ('calling', '{"key": "2026-01-01T00:00:00Z", "slot": "2026-01-01T00:00:00Z"}', 'slots', 25)`)
	require.NoError(t, err)
	eventually(t, "the endpoint has answered and the claim is open", func() bool {
		return count(t, db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`) == 1
	})
	require.Equal(t, 1, count(t, receiver, `SELECT count(*) FROM payments`))
	require.NoError(t, victim.Process.Kill())
	require.NoError(t, holder.Rollback(t.Context()))
	require.Zero(t, count(t, db, `SELECT count(*) FROM worker_runs`))

	heir := start(t, db, environ, "serve")
	eventually(t, "the slot is done by the other one", func() bool {
		return count(t, db, `SELECT count(*) FROM worker_runs WHERE name = 'calling' AND outcome = 'ran' AND output->>'status' = '200'`) == 1
	})
	heir.terminate(t)
	require.Equal(t, 2, count(t, receiver, `SELECT count(*) FROM calls`))
	require.Equal(t, 1, count(t, receiver, `SELECT count(DISTINCT (key, id)) FROM calls WHERE key = 'calling/2026-01-01T00:00:00Z' AND id ~ '^msg_[0-9a-f]{32}$'`))
	require.Equal(t, 1, count(t, receiver, `SELECT count(*) FROM payments`))
	for _, p := range []*process{victim, heir} {
		require.NotContains(t, p.stdout.String()+p.stderr.String(), "Y2FuYXJ5")
	}
}

// A mistake in an endpoint is told with all others, and the secret is not.
func TestWrongEndpoint(t *testing.T) {
	t.Parallel()
	p := start(t, nil, []string{"LOG_LEVEL=canary", "ENDPOINT_APP_URL=http://user:canary@app", "ENDPOINT_APP_SECRET=whsec_secretcanary"}, "serve")
	require.Error(t, p.Wait())
	require.Equal(t, 2, p.ProcessState.ExitCode())
	for _, variable := range []string{"DATABASE_URL", "LOG_LEVEL", "ENDPOINT_APP_URL", "ENDPOINT_APP_SECRET"} {
		require.Contains(t, p.stderr.String(), variable+" ")
	}
	require.NotContains(t, p.stderr.String(), "secretcanary")
	require.NotContains(t, p.stderr.String(), "user:canary")
}
