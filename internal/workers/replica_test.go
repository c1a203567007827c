package workers_test

import (
	"context"
	"errors"
	"log/slog"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

// patience bounds every wait. It is for a machine that does much else.
const patience = 30 * time.Second

// replica is a running River client.
type replica struct {
	*river.Client[pgx.Tx]

	attempts chan error          // what each attempt returned to River
	events   <-chan *river.Event // each job as River left it after an attempt
	log      lines               // our own log, from a warning on
}

// lines are those that a log wrote.
type lines chan string

func (l lines) Write(line []byte) (int, error) { l <- string(line); return len(line), nil }

// start runs the workers of entries on db until the test ends. Failed jobs are
// retried when the test says so, not before.
func start(t *testing.T, db *pgxpool.Pool, entries ...workers.Entry) replica {
	t.Helper()
	return startWith(t, db, river.Config{RetryPolicy: inAnHour()}, entries...)
}

// startWith is start with a retry policy or a job timeout of the test's own.
func startWith(t *testing.T, db *pgxpool.Pool, config river.Config, entries ...workers.Entry) replica {
	t.Helper()
	return startRunner(t, newRunner(db), config, entries...)
}

func startRunner(t *testing.T, runner *workers.Runner, config river.Config, entries ...workers.Entry) replica {
	t.Helper()
	r := replica{attempts: make(chan error, 1000), log: make(lines, 1000)}
	runner.Log = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelWarn}))
	registry := newRegistry(t, entries...)
	require.NoError(t, registry.RegisterKinds(t.Context(), runner.DB, "ranura"))
	registered, err := registry.RiverWorkers(runner)
	require.NoError(t, err)
	config.FetchCooldown = 5 * time.Millisecond
	if config.FetchPollInterval == 0 {
		config.FetchPollInterval = 20 * time.Millisecond
	}
	config.Logger = slog.New(slog.NewTextHandler(r.log, &slog.HandlerOptions{Level: slog.LevelError}))
	config.Middleware = []rivertype.Middleware{river.WorkerMiddlewareFunc(
		func(ctx context.Context, _ *rivertype.JobRow, work func(context.Context) error) error {
			err := work(ctx)
			r.attempts <- err
			return err
		})}
	config.Queues = map[string]river.QueueConfig{periodic.Queue: {MaxWorkers: 4}, workers.Queue: {MaxWorkers: 4}}
	config.ReindexerIndexNames = []string{}
	config.RescueStuckJobsAfter = 100 * 365 * 24 * time.Hour // the rescuer goes by this machine's clock: to it every job of a database whose clock stands is stuck
	config.TestOnly = true
	config.Workers = registered
	r.Client, err = river.NewClient(riverpgxv5.New(runner.DB), &config)
	require.NoError(t, err)
	var unsubscribe func()
	r.events, unsubscribe = r.Subscribe(river.EventKindJobCancelled, river.EventKindJobCompleted, river.EventKindJobFailed)
	ctx := context.WithoutCancel(t.Context())
	require.NoError(t, r.Start(ctx))
	t.Cleanup(func() {
		unsubscribe()
		require.NoError(t, r.StopAndCancel(ctx))
	})
	return r
}

// inAnHour is the real policy, an hour later: retries are up to the test.
func inAnHour() workers.RetryPolicy {
	return workers.RetryPolicy{Now: func() time.Time { return time.Now().Add(time.Hour) }}
}

// logged returns what has been logged so far.
func (r replica) logged() (lines []string) {
	for len(r.log) > 0 {
		lines = append(lines, <-r.log)
	}
	return lines
}

// insert enqueues the probe's slot at an instant.
func (r replica) insert(t *testing.T, at time.Time) *rivertype.JobInsertResult {
	t.Helper()
	result, err := r.Insert(t.Context(), workers.Args[probe]{Key: at.UTC().Format(time.RFC3339), Slot: at}, periodic.InsertOpts())
	require.NoError(t, err)
	return result
}

// retry makes a job available again, as an operator would.
func (r replica) retry(t *testing.T, id int64) {
	t.Helper()
	_, err := r.JobRetry(t.Context(), id)
	require.NoError(t, err)
}

// attempt waits for the next attempt and returns its error.
func (r replica) attempt(t *testing.T) error { t.Helper(); return await(t, r.attempts) }

// requireSnooze checks that an attempt came too soon, and failed nothing.
func requireSnooze(t *testing.T, err error) {
	t.Helper()
	_, snoozed := errors.AsType[*rivertype.JobSnoozeError](err)
	require.True(t, snoozed, err)
}

// settled waits until River has booked the next attempt, and returns the job.
func (r replica) settled(t *testing.T) *rivertype.JobRow { t.Helper(); return await(t, r.events).Job }

func await[T any](t *testing.T, from <-chan T) (value T) {
	t.Helper()
	select {
	case value = <-from:
	case <-time.After(patience):
		require.FailNow(t, "nothing happened", "within %s", patience)
	}
	return value
}
