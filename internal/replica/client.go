package replica

import (
	"context"
	"log/slog"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivertype"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

const (
	// maxWorkers is how many slots one replica runs at once, each on a
	// connection of its own. Scheduled work is bound by the database, and more
	// connections than a few per core make it slower.
	maxWorkers = 10

	// maxTasks is how many jobs of tasks one replica runs at once, beside its
	// slots and on connections of their own: a backlog delays no slot.
	maxTasks = 5

	// controlConns serve River's listener, election, fetch and completion, the
	// catch-up and its listener, the readiness probe and River's page.
	controlConns = 8

	// Connections are the most that one replica has open: those of its pools, and
	// River's listener and catch-up's, which leave them.
	Connections = maxWorkers + maxTasks + controlConns + 2

	// rescueMargin is how long after the longest timeout of the registry River
	// rescues a slot that is still running, so that one at work is not handed out
	// twice however the timeouts are set; if it is, the claim decides. It is there
	// for slots that no process works at though their replica lives: those of a
	// replica that is gone are handed back within seconds.
	rescueMargin = 30 * time.Second

	// softStop and hardStop together stay below the 30 seconds that container
	// platforms give a process between SIGTERM and SIGKILL.
	softStop = 20 * time.Second
	hardStop = 5 * time.Second
)

// newClient wires River. What is set here guards against what River does by
// default:
//   - a kind that only a newer replica knows is left for it, instead of using
//     up its attempts here (FetchOnlyKnownKinds);
//   - the nightly reindex is off: while it runs, unique inserts fail;
//   - a slot that nobody works at is rescued after its timeout, not after an hour.
func newClient(r *replica) (*river.Client[pgx.Tx], error) {
	registered, err := r.Registry.RiverWorkers(r.runner)
	if err != nil {
		return nil, err
	}
	longest := r.Registry.LongestTimeout()
	return river.NewClient(riverpgxv5.New(r.control), &river.Config{
		ErrorHandler:         errorHandler{r.Registry, r.runner.Metrics, r.Log},
		FetchOnlyKnownKinds:  true,
		ID:                   r.ID,
		JobTimeout:           periodic.DefaultTimeout, // of tasks: each schedule has its own
		Logger:               slog.New(calm{r.Log.Handler()}),
		Middleware:           []rivertype.Middleware{r.telemetry.middleware()},
		PeriodicJobs:         periodic.Jobs(r.Registry.Entries()),
		Queues:               map[string]river.QueueConfig{periodic.Queue: {MaxWorkers: maxWorkers}, workers.Queue: {MaxWorkers: maxTasks}},
		ReindexerIndexNames:  []string{},
		RescueStuckJobsAfter: longest + rescueMargin,
		RetryPolicy:          workers.RetryPolicy{Now: time.Now},
		SoftStopTimeout:      softStop,
		Workers:              registered,
	})
}

// calm keeps River's account of its own life out of the log: below a warning,
// the log has one line for each slot.
type calm struct{ slog.Handler }

func (c calm) Enabled(ctx context.Context, level slog.Level) bool {
	return level >= slog.LevelWarn && c.Handler.Enabled(ctx, level)
}

func (c calm) WithAttrs(attrs []slog.Attr) slog.Handler { return calm{c.Handler.WithAttrs(attrs)} }
func (c calm) WithGroup(name string) slog.Handler       { return calm{c.Handler.WithGroup(name)} }
