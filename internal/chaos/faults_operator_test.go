package chaos

import (
	"context"
	"fmt"
	"math/rand/v2"
	"sync"

	"github.com/jackc/pgx/v5"
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"

	"github.com/ranura/ranura/internal/claim"
)

// excuses are the slots that an operator took out of the queue: nobody runs
// them any more unless somebody asks.
type excuses struct {
	mu    sync.Mutex
	slots map[claim.Key]string
}

func (e *excuses) add(key claim.Key, why string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.slots == nil {
		e.slots = make(map[claim.Key]string)
	}
	e.slots[key] = why
}

// operatorFaults are what River's page offers.
func operatorFaults() []fault {
	return []fault{
		{kind: "operator cancels", strike: cancelJob},
		{kind: "operator retries", strike: retryJob},
		{kind: "operator deletes", strike: deleteJob},
	}
}

// pickJob finds a job of a slot in one of the states, at random. In a busy
// second there may be none.
const pickJobSQL = `
SELECT id, kind, args->>'key' FROM river_job
WHERE state = ANY ($1::river_job_state[]) AND queue = 'slots'
ORDER BY random() LIMIT 1`

func pickJob(ctx context.Context, c *cluster, states ...string) (id int64, key claim.Key, err error) {
	err = c.db.QueryRow(ctx, pickJobSQL, states).Scan(&id, &key.Name, &key.Key)
	if err != nil {
		return 0, key, fmt.Errorf("%w: no job: %w", errBusy, err)
	}
	return id, key, nil
}

func operator(c *cluster) (*river.Client[pgx.Tx], error) {
	return river.NewClient(riverpgxv5.New(c.db), &river.Config{})
}

func cancelJob(ctx context.Context, c *cluster, _ *rand.Rand) (string, heal, error) {
	id, key, err := pickJob(ctx, c, "available", "retryable", "running", "scheduled")
	if err != nil {
		return "", nil, err
	}
	client, err := operator(c)
	if err != nil {
		return key.String(), nil, err
	}
	c.excused.add(key, "cancelled")
	_, err = client.JobCancel(ctx, id)
	return key.Name, nil, err
}

// retryJob makes a slot that is done run again, which must change nothing.
func retryJob(ctx context.Context, c *cluster, _ *rand.Rand) (string, heal, error) {
	id, key, err := pickJob(ctx, c, "completed", "cancelled", "discarded")
	if err != nil {
		return "", nil, err
	}
	client, err := operator(c)
	if err != nil {
		return key.String(), nil, err
	}
	_, err = client.JobRetry(ctx, id)
	return key.Name, nil, err
}

func deleteJob(ctx context.Context, c *cluster, _ *rand.Rand) (string, heal, error) {
	id, key, err := pickJob(ctx, c, "available", "cancelled", "completed", "retryable", "scheduled")
	if err != nil {
		return "", nil, err
	}
	client, err := operator(c)
	if err != nil {
		return key.String(), nil, err
	}
	c.excused.add(key, "deleted")
	_, err = client.JobDelete(ctx, id)
	return key.Name, nil, err
}
