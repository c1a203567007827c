package workers

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/delivery"
	"github.com/ranura/ranura/internal/periodic"
)

// A Caller is a worker or task whose work is done by an endpoint. The request is
// sent first, while no transaction is open; after a success the claim
// transaction runs, with Run in it and the answer in the claim's row. If that
// fails, the request is sent again, with the same idempotency key: the endpoint
// claims by the key, and a repeat does nothing. An endpoint that claims in this
// very database does the whole work: Run is left out.
type Caller interface {
	// Request says what to send. Every attempt must send the same, so it reads
	// nothing but the slot and the Caller's own fields. A task's slot has a name
	// and a key and no instant. Without a body, the slot itself is sent.
	Request(slot periodic.Slot) delivery.Request
}

// call is a Caller's request on its way.
type call struct {
	slot    periodic.Slot // what the endpoint knows it by, also when somebody forces a second run
	admit   claim.Step    // decides, under the claim, whether to call at all
	request func() delivery.Request
}

// callOf returns the call of a task, which read fills in, or nil if it makes none.
func callOf[T Task](task *T, key claim.Key, read claim.Step) *call {
	if _, calls := any(*task).(Caller); !calls {
		return nil
	}
	slot := periodic.Slot{Name: key.Name, Key: key.Key}
	return &call{slot, read, func() delivery.Request { return any(*task).(Caller).Request(slot) }}
}

// errRehearsed undoes the rehearsal.
var errRehearsed = errors.New("rehearsed")

// call rehearses the claim, delivers, and claims. The rehearsal is a claim
// transaction that is rolled back: it finds out whether the slot has run, is at
// work elsewhere or is decided against, as it would be found out too late after
// the delivery. Between the two anybody may claim; then the endpoint was called
// twice with one key.
func (r *Runner) call(ctx context.Context, c call, key claim.Key, meta claim.Meta, work claim.Step, finish ...claim.Step) (claim.Outcome, error) {
	if err := r.reconsider(ctx, key, &meta); err != nil {
		return "", err
	}
	var request delivery.Request
	outcome, err := claim.Run(ctx, r.DB, key, meta, func(ctx context.Context, tx pgx.Tx) error {
		if err := c.admit(ctx, tx); err != nil {
			return err
		}
		request = c.request()
		return errRehearsed
	}, finish...)
	switch {
	case outcome == claim.Duplicate && meta.Attempt > 1: // perhaps by the endpoint, whose answer was lost
		return r.adopt(ctx, key, meta, finish)
	case !errors.Is(err, errRehearsed):
		return outcome, err
	}
	return r.deliver(ctx, c, request, key, meta, work, finish)
}

// deliver sends the request and claims. An endpoint that shares our database must
// be able to claim, also a slot that was skipped or refused before.
func (r *Runner) deliver(ctx context.Context, c call, request delivery.Request, key claim.Key, meta claim.Meta, work claim.Step, finish []claim.Step) (outcome claim.Outcome, err error) {
	if request.Body == nil {
		request.Body = body(c.slot)
	}
	now, err := periodic.Now(ctx, r.DB)
	if err != nil {
		return "", err
	}
	putBack, err := claim.Clear(ctx, r.DB, key, meta)
	if err != nil {
		return "", err
	}
	defer func() {
		if err != nil {
			err = errors.Join(err, r.afterwards(ctx, putBack))
		}
	}()
	answer, err := r.Endpoints.Deliver(ctx, request, delivery.IdempotencyKey(c.slot.Name, c.slot.Key), now)
	if failed, ok := errors.AsType[*delivery.Error](err); ok && failed.Final {
		return r.refused(ctx, key, meta, failed)
	}
	if err != nil {
		return "", fmt.Errorf("call for %s: %w", key, err)
	}
	finish = append([]claim.Step{claim.Output(key, answer)}, finish...)
	outcome, err = claim.Run(ctx, r.DB, key, meta, work, finish...)
	if err != nil || outcome != claim.Duplicate {
		return outcome, err
	}
	return r.adopt(ctx, key, meta, finish)
}

// afterwards does what must be done also when ctx has ended.
func (r *Runner) afterwards(ctx context.Context, do func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), afterwardsTimeout)
	defer cancel()
	return do(ctx)
}

// afterwardsTimeout is short beside the time that a stop has.
const afterwardsTimeout = 3 * time.Second

// adopt takes the finishing steps with the claim of an endpoint that shares our
// database, and has claimed there by the same name and key. The work is the
// endpoint's then, whole: it may have committed long before, when the answer to
// an earlier attempt was lost.
func (r *Runner) adopt(ctx context.Context, key claim.Key, meta claim.Meta, finish []claim.Step) (claim.Outcome, error) {
	outcome := claim.Duplicate
	err := pgx.BeginTxFunc(ctx, r.DB, pgx.TxOptions{IsoLevel: pgx.ReadCommitted}, func(tx pgx.Tx) error {
		theirs, err := claim.Adopt(ctx, tx, key, meta)
		if err != nil || !theirs {
			return err
		}
		for _, step := range finish {
			if err := step(ctx, tx); err != nil {
				return err
			}
		}
		outcome = claim.Ran
		return nil
	})
	if err != nil {
		return "", err
	}
	return outcome, nil
}

// reconsider lets a job that was refused try again: it is at work once more
// because somebody, who has mended the endpoint, retried it.
func (r *Runner) reconsider(ctx context.Context, key claim.Key, meta *claim.Meta) error {
	record, err := claim.Find(ctx, r.DB, key)
	if err != nil {
		return err
	}
	if record != nil && record.Outcome == string(claim.Refused) && record.JobID != nil && *record.JobID == meta.JobID {
		meta.Reopen = true
	}
	return nil
}

// refusal is what the claim of a refused request keeps.
type refusal struct {
	delivery.Answer

	Error string `json:"error"`
}

// refused records that an endpoint refused for good, and returns why. The job is
// not completed with it, because it is River that shows the reason.
func (r *Runner) refused(ctx context.Context, key claim.Key, meta claim.Meta, failed *delivery.Error) (claim.Outcome, error) {
	outcome, err := claim.Run(ctx, r.DB, key, meta,
		func(context.Context, pgx.Tx) error { return claim.Skip(claim.Refused) },
		claim.Output(key, refusal{failed.Answer, failed.Error()}))
	if err != nil || outcome == claim.Duplicate { // somebody else's call succeeded
		return outcome, err
	}
	return outcome, fmt.Errorf("call for %s: %w", key, failed)
}

// body is what a request without a body of its own sends.
func body(slot periodic.Slot) any {
	return struct {
		Name string    `json:"name"`
		Key  string    `json:"key"`
		Slot time.Time `json:"slot,omitzero"`
	}{slot.Name, slot.Key, slot.At}
}
