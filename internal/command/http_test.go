package command_test

import (
	"encoding/json"
	"io"
	"net"
	"net/http"
	"net/url"
	"regexp"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

var servingAt = regexp.MustCompile(`"http":"(http://[^"]+)"`)

// address is where a replica serves; it serves before it is ready.
func address(t *testing.T, replica *process) string {
	t.Helper()
	eventually(t, "the replica serves", func() bool { return servingAt.MatchString(replica.stderr.String()) })
	return servingAt.FindStringSubmatch(replica.stderr.String())[1]
}

// request sends a request and returns status and body.
func request(t *testing.T, method, url string, header ...string) (int, string) {
	t.Helper()
	r, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	require.NoError(t, err)
	if len(header) == 2 {
		r.Header.Set(header[0], header[1])
		if header[0] == "Host" {
			r.Host = header[1]
		}
	}
	response, err := http.DefaultClient.Do(r)
	require.NoError(t, err)
	defer func() { _ = response.Body.Close() }()
	body, err := io.ReadAll(response.Body)
	require.NoError(t, err)
	return response.StatusCode, string(body)
}

func TestPages(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	replica := serve(t, db, "pages")
	at := address(t, replica)

	for path, want := range map[string]string{
		"/healthz":          "ok\n",
		"/readyz":           "ready\n",
		"/":                 "<title>River</title>",
		"/river/":           "<title>River</title>",
		"/river/api/states": `"completed"`,
	} {
		status, body := request(t, http.MethodGet, at+path)
		require.Equal(t, http.StatusOK, status, path)
		require.Contains(t, body, want, path)
	}

	runNewYear := at + "/schedules/stuck/run?slot=2026-01-01T00:00:00Z"
	for _, want := range []string{"ran", "duplicate"} {
		status, body := request(t, http.MethodPost, runNewYear)
		require.Equal(t, http.StatusOK, status, body)
		var result struct {
			Outcome string `json:"outcome"`
			Run     struct{ Source, Replica string }
		}
		require.NoError(t, json.Unmarshal([]byte(body), &result))
		require.Equal(t, want, result.Outcome)
		require.Equal(t, "manual", result.Run.Source)
		require.True(t, strings.HasPrefix(result.Run.Replica, "pages-"))
	}
	require.Equal(t, 1, count(t, db, `SELECT count(*) FROM beats WHERE slot = '2026-01-01Z'`))

	for _, c := range []struct {
		method, path string
		header       []string
		status       int
	}{
		{http.MethodGet, "/schedules/stuck/run", nil, http.StatusMethodNotAllowed},
		{http.MethodPost, "/schedules/stuck/run", []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		{http.MethodPost, "/river/api/jobs/cancel", []string{"Sec-Fetch-Site", "cross-site"}, http.StatusForbidden},
		{http.MethodPost, "/schedules/unknown/run", nil, http.StatusNotFound},
		{http.MethodPost, "/schedules/stuck/run?slot=tomorrow", nil, http.StatusBadRequest},
		{http.MethodPost, "/schedules/stuck/run?slot=", nil, http.StatusBadRequest},
		{http.MethodPost, "/schedules/stuck/run?slot=%zz", nil, http.StatusBadRequest},
		{http.MethodPost, "/schedules/stuck/run?sloot=2026-01-01T00:00:00Z", nil, http.StatusBadRequest},
		{http.MethodPost, "/schedules/stuck/run?key=2026-01-01T00:00:00Z&slot=2026-01-01T00:00:00Z", nil, http.StatusBadRequest},
		{http.MethodPost, "/schedules/stuck/run?key=2026-01-02T00:00:00Z", nil, http.StatusUnprocessableEntity},
		{http.MethodPost, "/schedules/stuck/run?key=2026-01-01T00:00:00Z", nil, http.StatusOK},
		{http.MethodPost, "/schedules/stuck/run?key=2026-01-01T00:00:00Z", []string{"Host", "evil.example"}, http.StatusForbidden},
		{http.MethodGet, "/river/", []string{"Host", "evil.example"}, http.StatusForbidden},
		{http.MethodGet, "/healthz", []string{"Host", "10.0.0.7:8080"}, http.StatusOK}, // as the probes of platforms do
		{http.MethodGet, "/readyz", []string{"Host", "10.0.0.7:8080"}, http.StatusOK},
		{http.MethodPost, "/schedules/stuck/run?slot=2026-01-02T00:00:00Z", nil, http.StatusUnprocessableEntity},
		{http.MethodPost, "/schedules/leaderboard_close/run?slot=2026-05-30T00:00:00Z", nil, http.StatusInternalServerError}, // nobody has settled here: no bot
	} {
		status, body := request(t, c.method, at+c.path, c.header...)
		require.Equal(t, c.status, status, "%s %s: %s", c.method, c.path, body)
	}
	replica.terminate(t)
}

// TestStopIsBounded: a run by hand that does not end is cancelled as a slot is,
// and the process ends within the time that platforms give it: K4.
func TestStopIsBounded(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	holder, err := db.Begin(t.Context())
	require.NoError(t, err)
	defer func() { _ = holder.Rollback(t.Context()) }()
	_, err = holder.Exec(t.Context(), `SELECT pg_advisory_xact_lock($1)`, stuckLock)
	require.NoError(t, err)

	replica := serve(t, db, "stops")
	at := address(t, replica)
	answered := make(chan int, 1)
	go func() {
		r, _ := http.NewRequestWithContext(t.Context(), http.MethodPost, at+"/schedules/stuck/run", nil)
		response, err := http.DefaultClient.Do(r)
		if err != nil {
			answered <- 0
			return
		}
		_ = response.Body.Close()
		answered <- response.StatusCode
	}()
	eventually(t, "the run holds its claim", func() bool {
		return count(t, db, `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`) == 1
	})
	began := time.Now()
	replica.terminate(t)
	require.Less(t, time.Since(began), 30*time.Second, "platforms kill after 30 s")
	require.NotEqual(t, http.StatusOK, <-answered)
	require.Zero(t, count(t, db, `SELECT count(*) FROM worker_runs WHERE name = 'stuck'`))
}

// TestDatabaseAway: a replica whose database is away lives, says that it is not
// ready, and starts when the database comes. Wrong credentials end it at once.
func TestDatabaseAway(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	target, err := url.Parse(db.Config().ConnString())
	require.NoError(t, err)
	server := target.Host
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	target.Host = listener.Addr().String()
	require.NoError(t, listener.Close()) // now nobody answers there

	replica := start(t, nil, []string{"DATABASE_URL=" + target.String(), "LOG_FORMAT=json"}, "serve")
	at := address(t, replica)
	eventually(t, "the replica says what it waits for", func() bool { return strings.Contains(replica.stderr.String(), "the database is away") })
	status, _ := request(t, http.MethodGet, at+"/healthz")
	require.Equal(t, http.StatusOK, status)
	status, _ = request(t, http.MethodGet, at+"/readyz")
	require.Equal(t, http.StatusServiceUnavailable, status)

	new(gate).open(t, target.Host, server)
	eventually(t, "the replica starts", func() bool { return strings.Contains(replica.stderr.String(), `"replica started"`) })
	status, _ = request(t, http.MethodGet, at+"/readyz")
	require.Equal(t, http.StatusOK, status)
	replica.terminate(t)
	require.NotContains(t, replica.stderr.String(), `"ERROR"`)

	wrong := *target
	wrong.User = url.UserPassword(target.User.Username(), "canary")
	refused := start(t, nil, []string{"DATABASE_URL=" + wrong.String(), "LOG_FORMAT=json"}, "serve")
	_ = refused.Wait()
	require.Equal(t, 1, refused.ProcessState.ExitCode())
	require.Contains(t, refused.stderr.String(), "password authentication failed")
	require.NotContains(t, refused.stderr.String(), "canary")
}
