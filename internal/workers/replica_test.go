package workers_test

import (
	"context"
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
}

// start runs the workers of entries on db until the test ends. Failed jobs are
// retried when the test says so, not before.
func start(t *testing.T, db *pgxpool.Pool, entries ...workers.Entry) replica {
	t.Helper()
	registered, err := newRegistry(t, entries...).RiverWorkers(newRunner(db))
	require.NoError(t, err)
	attempts := make(chan error, 100)
	client, err := river.NewClient(riverpgxv5.New(db), &river.Config{
		FetchCooldown:     5 * time.Millisecond,
		FetchPollInterval: 20 * time.Millisecond,
		Logger:            slog.New(slog.DiscardHandler),
		Middleware: []rivertype.Middleware{river.WorkerMiddlewareFunc(
			func(ctx context.Context, _ *rivertype.JobRow, work func(context.Context) error) error {
				err := work(ctx)
				attempts <- err
				return err
			})},
		Queues:              map[string]river.QueueConfig{periodic.Queue: {MaxWorkers: 4}},
		ReindexerIndexNames: []string{},
		RetryPolicy:         inAnHour{},
		TestOnly:            true,
		Workers:             registered,
	})
	require.NoError(t, err)
	events, unsubscribe := client.Subscribe(river.EventKindJobCancelled, river.EventKindJobCompleted, river.EventKindJobFailed)
	ctx := context.WithoutCancel(t.Context())
	require.NoError(t, client.Start(ctx))
	t.Cleanup(func() {
		unsubscribe()
		require.NoError(t, client.StopAndCancel(ctx))
	})
	return replica{client, attempts, events}
}

type inAnHour struct{}

func (inAnHour) NextRetry(job *rivertype.JobRow) time.Time { return job.AttemptedAt.Add(time.Hour) }

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
