package workers_test

import (
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/delivery"
	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

const secret = "Y2FuYXJ5LWNhbmFyeS1jYW5hcnktY3VycmVudA=="

// request is what a receiver got.
type request struct{ key, id, path, body string }

// receive starts a receiver that answers as it is told to, and returns the
// endpoint "app", which is there, and what it receives.
func receive(t *testing.T, answer http.HandlerFunc) (delivery.Endpoints, chan request) {
	t.Helper()
	seen := make(chan request, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // the caller has left
		}
		seen <- request{r.Header.Get("Idempotency-Key"), r.Header.Get("Webhook-Id"), r.URL.Path, string(body)}
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	endpoints, err := delivery.ReadEndpoints([]string{"ENDPOINT_APP_URL=" + server.URL, "ENDPOINT_APP_SECRET=whsec_" + secret})
	require.NoError(t, err)
	return endpoints, seen
}

// answers gives one answer after the other, and the last one for ever.
func answers(each ...http.HandlerFunc) http.HandlerFunc {
	next := make(chan http.HandlerFunc, len(each))
	for _, answer := range each {
		next <- answer
	}
	return func(w http.ResponseWriter, r *http.Request) {
		answer := <-next
		if len(next) == 0 {
			next <- answer
		}
		answer(w, r)
	}
}

func say(status int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(status)
		_, _ = io.WriteString(w, body)
	}
}

// caller is the probe whose work an endpoint does; its own effect comes after it.
type caller struct{ probe }

func (caller) Request(periodic.Slot) delivery.Request {
	return delivery.Request{Endpoint: "app", Path: "/jobs/probe"}
}

func onQuartersCalling(worker caller) workers.Entry {
	return workers.On(worker, quarters(periodic.Policy{}))
}

// startCalling is start for workers that call endpoints.
func startCalling(t *testing.T, db *pgxpool.Pool, endpoints delivery.Endpoints, entries ...workers.Entry) replica {
	t.Helper()
	runner := newRunner(db)
	runner.Endpoints = endpoints
	return startRunner(t, runner, river.Config{RetryPolicy: inAnHour()}, entries...)
}

// insertCall enqueues the caller's slot of friday.
func (r replica) insertCall(t *testing.T) (id int64) {
	t.Helper()
	result, err := r.Insert(t.Context(), workers.Args[caller]{Key: fridayKey, Slot: friday}, periodic.InsertOpts())
	require.NoError(t, err)
	return result.Job.ID
}

func outputs(t *testing.T, db *pgxpool.Pool) []string {
	t.Helper()
	return texts(t, db, `SELECT outcome || ' ' || coalesce(output::text, '-') FROM worker_runs ORDER BY key`)
}

// panics is a caller that cannot say what to send.
type panics struct{ caller }

func (panics) Request(periodic.Slot) delivery.Request { panic("no request") }

// failing is a caller whose own effect fails as often as it is told to.
func failing(times int) caller {
	left := make(chan bool, times)
	for range times {
		left <- true
	}
	return caller{probe{func(context.Context, pgx.Tx, periodic.Slot) error {
		select {
		case <-left:
			return errors.New("section not found")
		default:
			return nil
		}
	}}}
}
