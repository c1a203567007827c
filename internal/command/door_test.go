package command_test

import (
	"io"
	"net"
	"net/http"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

const (
	viewerPassword   = "canary-viewer-password"
	operatorPassword = "canary-operator-password"
)

// send sends a request as somebody, "" for nobody, and returns the answer.
func send(t *testing.T, as, method, url, body string) answered {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, strings.NewReader(body))
	require.NoError(t, err)
	if password := map[string]string{"viewer": viewerPassword, "operator": operatorPassword}[as]; password != "" {
		r.SetBasicAuth(as, password)
	}
	client := http.Client{CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse }}
	response, err := client.Do(r)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	text, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return answered{response.StatusCode, response.Header, string(text)}
}

type answered struct {
	status int
	header http.Header
	body   string
}

// TestDoor is K1, K2 and the attacks on River's page: what is open to whom.
func TestDoor(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	p := start(t, db, []string{"HTTP_ADDR=0.0.0.0:0", "LOG_FORMAT=json", "LOG_LEVEL=DEBUG",
		"WEB_VIEWER_PASSWORD=" + viewerPassword, "WEB_OPERATOR_PASSWORD=" + operatorPassword}, "serve")
	eventually(t, "the replica starts", func() bool { return strings.Contains(p.stderr.String(), `"replica started"`) })
	at := strings.Replace(address(t, p), "[::]", "127.0.0.1", 1)

	execute(t, db, `INSERT INTO river_job (id, kind, args, max_attempts, queue, state, scheduled_at)
		SELECT id, 'other', '{}', 25, 'nobody', 'scheduled', now() + interval '1 day' FROM generate_series(1001, 1003) id`)
	for _, c := range []struct {
		method, path, body       string
		nobody, viewer, operator int
	}{
		{"GET", "/healthz", "", 200, 200, 200},
		{"GET", "/readyz", "", 200, 200, 200},
		{"GET", "/metrics", "", 200, 200, 200},
		{"POST", "/healthz", "", 401, 403, 404},
		{"POST", "/metrics", "", 401, 403, 404},
		{"GET", "/", "", 401, 302, 302},
		{"GET", "/favicon.ico", "", 401, 404, 404},
		{"GET", "/river", "", 401, 307, 307},
		{"GET", "/river/", "", 401, 200, 200},
		{"GET", "/river/api/states", "", 401, 200, 200},
		{"GET", "/river/api/jobs", "", 401, 200, 200},
		{"GET", "/river/api/health-checks/complete", "", 401, 200, 200},
		{"GET", "/api/states", "", 401, 404, 404},
		{"POST", "/river/api/jobs/cancel", `{"ids": ["1001"]}`, 401, 403, 200},
		{"POST", "/river/api/jobs/retry", `{"ids": ["1002"]}`, 401, 403, 200},
		{"POST", "/river/api/jobs/delete", `{"ids": ["1003"]}`, 401, 403, 200},
		{"PUT", "/river/api/queues/slots/pause", "", 401, 403, 200},
		{"PUT", "/river/api/queues/slots/resume", "", 401, 403, 200},
		// River's own bypass for its health checks matches inside of other paths.
		{"PUT", "/river/api/queues/x%2Fapi%2Fhealth-checks%2Fy/pause", "", 401, 403, 404},
		{"PUT", "/river/api/health-checks/../queues/slots/pause", "", 307, 307, 307},
		{"PUT", "//river/api/queues/slots/pause", "", 307, 307, 307},
		{"GET", "/healthz/../river/api/jobs", "", 307, 307, 307},
		{"GET", "/healthz/", "", 401, 404, 404},
		{"GET", "/healthz%2F..%2Friver%2Fapi%2Fjobs", "", 401, 404, 404},
		{"GET", "/river/healthz", "", 401, 200, 200}, // River's page, which says that it does not know this one
		{"POST", "/schedules/stuck/run?slot=2026-01-01T00:00:00Z", "", 401, 403, 200},
		{"DELETE", "/schedules/stuck/run", "", 401, 403, 405},
		{"TRACE", "/", "", 401, 403, 405},
		{"FROB", "/", "", 401, 403, 405},
	} {
		for _, as := range []string{"", "viewer", "operator"} {
			want := map[string]int{"": c.nobody, "viewer": c.viewer, "operator": c.operator}[as]
			answer := send(t, as, c.method, at+c.path, c.body)
			require.Equal(t, want, answer.status, "%q %s %s", as, c.method, c.path)
			for name, value := range map[string]string{"X-Content-Type-Options": "nosniff", "Referrer-Policy": "no-referrer", "Cross-Origin-Opener-Policy": "same-origin"} {
				require.Equal(t, value, answer.header.Get(name), c.path)
			}
			require.Contains(t, answer.header.Get("Content-Security-Policy"), "frame-ancestors 'none'", c.path)
			require.Equal(t, want == 401, answer.header.Get("WWW-Authenticate") != "")
		}
	}
	require.Equal(t, 1, count(t, db, `SELECT count(*) FROM worker_runs WHERE name = 'stuck'`), "by the operator alone")

	require.Equal(t, 1, count(t, db, `SELECT count(*) FROM river_job WHERE id = 1001 AND state = 'cancelled'`))
	require.Equal(t, 1, count(t, db, `SELECT count(*) FROM river_job WHERE id = 1002 AND state = 'available'`))
	require.Zero(t, count(t, db, `SELECT count(*) FROM river_job WHERE id = 1003`))

	// Bodies are bounded, and River reads them whole.
	require.Equal(t, 413, send(t, "operator", "POST", at+"/river/api/jobs/cancel", `{"ids": ["`+strings.Repeat("1", 2<<20)+`"]}`).status)

	metrics := send(t, "", "GET", at+"/metrics", "").body
	p.terminate(t)
	require.NotContains(t, p.stderr.String()+metrics, "canary")
}

// TestSlowHeaders: whoever sends a header a byte at a time is not waited for.
func TestSlowHeaders(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	p := serve(t, db, "patient")
	conn, err := new(net.Dialer).DialContext(t.Context(), "tcp", strings.TrimPrefix(address(t, p), "http://"))
	require.NoError(t, err)
	defer func() { _ = conn.Close() }()
	_, err = conn.Write([]byte("GET / HTTP/1.1\r\nHost: localhost\r\nX-Slow: "))
	require.NoError(t, err)
	require.NoError(t, conn.SetReadDeadline(time.Now().Add(time.Minute))) // only a hang reaches it
	_, err = io.ReadAll(conn)
	require.NoError(t, err, "the server hangs up")
	p.terminate(t)
}

// TestDoorSettings: what is half set does not pass for a lock.
func TestDoorSettings(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	for i, c := range []struct{ environ, want string }{
		{"WEB_OPERATOR_PASSWORD=canary", "WEB_OPERATOR_PASSWORD is shorter than 12 characters"},
		{"WEB_PROXY_HEADER=X-User", "WEB_PROXY_ADDRESSES is not set"},
		{"WEB_PROXY_ADDRESSES=10.0.0.0/8", "WEB_PROXY_HEADER is not set"},
	} {
		p := start(t, db, []string{c.environ, "HTTP_ADDR=127.0.0.1:0", "REPLICA_NAME=half" + strconv.Itoa(i)}, "serve")
		_ = p.Wait()
		require.Equal(t, 2, p.ProcessState.ExitCode(), c.environ)
		require.Contains(t, p.stderr.String(), c.want)
		require.NotContains(t, p.stderr.String(), "canary")
	}
}
