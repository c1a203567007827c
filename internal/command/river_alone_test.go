package command_test

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
	"github.com/ranura/ranura/migrations"
)

// riverAlone is a service that leaves its schedule to River, as its manual has
// it: one periodic job, the same on every replica.
func riverAlone() error {
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGTERM)
	defer stop()
	db, err := pgxpool.New(ctx, os.Getenv("DATABASE_URL"))
	if err != nil {
		return err
	}
	defer db.Close()
	registered := river.NewWorkers()
	river.AddWorker(registered, river.WorkFunc(func(context.Context, *river.Job[tick]) error { return nil }))
	client, err := river.NewClient(riverpgxv5.New(db), &river.Config{
		ID:      os.Getenv("REPLICA_NAME"),
		Queues:  map[string]river.QueueConfig{river.QueueDefault: {MaxWorkers: 10}},
		Workers: registered,
		PeriodicJobs: []*river.PeriodicJob{river.NewPeriodicJob(wholeSeconds{}, func() (river.JobArgs, *river.InsertOpts) {
			return tick{}, nil
		}, nil)},
	})
	if err != nil {
		return err
	}
	if err := client.Start(ctx); err != nil {
		return err
	}
	<-client.Stopped() // River stops when ctx does
	return nil
}

type tick struct{}

func (tick) Kind() string { return "tick" }

type wholeSeconds struct{}

func (wholeSeconds) Next(current time.Time) time.Time {
	return current.Truncate(time.Second).Add(time.Second)
}

// TestRiverAlone is what TestLeaderGoes is held against: the same schedule, the
// same replicas, the same end of the leader, and nothing that looks for what is
// missing.
func TestRiverAlone(t *testing.T) {
	t.Parallel()
	for name, signal := range map[string]syscall.Signal{"Killed": syscall.SIGKILL, "InOrder": syscall.SIGTERM} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := postgrestest.New(t)
			_, err := migrations.Up(t.Context(), db)
			require.NoError(t, err)
			replicas := map[string]*process{}
			for _, name := range []string{"a", "b", "c"} {
				replicas[name] = start(t, db, []string{asApp + "=river", "REPLICA_NAME=" + name})
			}
			leader := leads(t, db, "")
			ticks(t, db, 3)
			require.NoError(t, replicas[leader].Process.Signal(signal))
			_ = replicas[leader].Wait()
			before := ticks(t, db, 0)
			leads(t, db, leader)
			ticks(t, db, before+10)

			lost := count(t, db, `SELECT extract(epoch FROM max(scheduled_at) - min(scheduled_at))::int + 1 - count(DISTINCT scheduled_at) FROM river_job`)
			t.Logf("%s: River alone lost %d slots", name, lost)
			if signal == syscall.SIGKILL {
				require.Positive(t, lost, "if River loses none any more, catch-up has one reason less")
			}
		})
	}
}

// leads waits for a leader other than the one that is gone.
func leads(t *testing.T, db *pgxpool.Pool, gone string) (leader string) {
	t.Helper()
	eventually(t, fmt.Sprintf("a leader that is not %q", gone), func() bool {
		err := db.QueryRow(t.Context(), `SELECT leader_id FROM river_leader`).Scan(&leader)
		return err == nil && leader != gone
	})
	return leader
}

// ticks waits for so many slots, and returns how many there are.
func ticks(t *testing.T, db *pgxpool.Pool, atLeast int) (n int) {
	t.Helper()
	eventually(t, fmt.Sprintf("%d ticks", atLeast), func() bool {
		n = count(t, db, `SELECT count(*) FROM river_job WHERE kind = 'tick'`)
		return n >= atLeast
	})
	return n
}
