package command_test

import (
	"net"
	"net/http"
	"net/url"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// gate passes connections on from one address to another, and holds back what
// they say while it is closed.
type gate struct{ sync.RWMutex }

func (g *gate) open(t *testing.T, from, to string) (address string) {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", from)
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			server, err := net.Dial("tcp", to)
			if err != nil {
				_ = client.Close()
				continue
			}
			go g.pass(server, client)
			go g.pass(client, server)
		}
	}()
	return listener.Addr().String()
}

func (g *gate) pass(to, from net.Conn) {
	defer func() { _, _ = to.Close(), from.Close() }()
	words := make([]byte, 32<<10)
	for {
		n, err := from.Read(words)
		g.RLock()
		if n > 0 {
			_, _ = to.Write(words[:n])
		}
		g.RUnlock()
		if err != nil {
			return
		}
	}
}

// TestK5StalledDatabase: a replica whose database says nothing for a while lives
// on, says that it is not ready, and does its work when the database is back.
func TestK5StalledDatabase(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	holder, err := db.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = holder.Rollback(t.Context()) }()
	_, err = holder.Exec(t.Context(), `SELECT pg_advisory_xact_lock($1)`, stuckLock)
	require.NoError(t, err)

	var way gate
	target, err := url.Parse(db.Config().ConnString())
	require.NoError(t, err)
	target.Host = way.open(t, "127.0.0.1:0", target.Host)
	replica := start(t, nil, []string{"DATABASE_URL=" + target.String(), "LOG_FORMAT=json", asApp + "=years"}, "serve")
	at := address(t, replica)
	says := func(path string) int { return send(t, "", http.MethodGet, at+path, "").status }
	eventually(t, "it is ready", func() bool { return says("/readyz") == http.StatusOK })
	do(t, db, "backfill", "stuck", "--from", "2025-12-31T00:00:00Z", "--to", "2026-01-02T00:00:00Z")
	eventually(t, "the slot is at work", func() bool {
		return count(t, db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`) == 1
	})

	way.Lock()
	closed := time.Now()
	stalled := false
	for range time.Tick(100 * time.Millisecond) {
		if time.Since(closed) > 20*time.Second {
			break
		}
		require.Equal(t, http.StatusOK, says("/healthz"), "nobody has to restart it")
		if !stalled {
			stalled = says("/readyz") == http.StatusServiceUnavailable
			require.Less(t, time.Since(closed), 15*time.Second)
		}
	}
	way.Unlock()
	eventually(t, "it is ready again", func() bool { return says("/readyz") == http.StatusOK })
	require.NoError(t, holder.Rollback(t.Context()))
	eventually(t, "the slot has run", func() bool { return count(t, db, `SELECT count(*) FROM worker_runs WHERE name = 'stuck'`) == 1 })
	require.Equal(t, 1, count(t, db, `SELECT count(*) FROM beats`))
	replica.terminate(t)
	require.Zero(t, replica.ProcessState.ExitCode())
}
