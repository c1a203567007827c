package claim_test

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/claim"
)

// memberError reads itself, so a nil one panics when it is asked what it is.
type memberError struct{ id int }

func (e *memberError) Error() string { return fmt.Sprint("no member ", e.id) }

// quietError has a text even when it is nil, and panics when it is unwrapped.
type quietError struct{ cause error }

func (*quietError) Error() string   { return "quiet" }
func (e *quietError) Unwrap() error { return e.cause }

func TestStepThatEndsBadly(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		end  func() error
		want string
	}{
		"Panic":             {func() error { panic("boom") }, "panic: boom"},
		"PanicWithAnError":  {func() error { panic(errors.New("boom")) }, "panic: boom"},
		"PanicWithATypeNil": {func() error { var e *memberError; panic(e) }, "panic: <nil>"},
		"Goexit":            {func() error { runtime.Goexit(); return nil }, "the step called runtime.Goexit"},
		"G1TypedNil": {
			func() error { var e *memberError; return e },
			"the step returned an error of type *claim_test.memberError that panics when it is read (runtime error: invalid memory address or nil pointer dereference): is it a nil pointer?",
		},
		"G1TypedNilThatPanicsWhenUnwrapped": {
			func() error { var e *quietError; return e },
			"the step returned an error of type *claim_test.quietError that panics when it is read (runtime error: invalid memory address or nil pointer dereference): is it a nil pointer?",
		},
		"G1TypedNilInsideAnError": {
			func() error { var e *quietError; return fmt.Errorf("settle: %w", e) },
			"the step returned an error of type *fmt.wrapError that panics when it is read (runtime error: invalid memory address or nil pointer dereference): is it a nil pointer?",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDB(t)
			badly := func(ctx context.Context, tx pgx.Tx) error {
				if err := pay(ctx, tx); err != nil {
					return err
				}
				return c.end()
			}
			_, err := claim.Run(t.Context(), db, friday, meta, badly)
			require.EqualError(t, err, "claim payday@2026-W22: "+c.want)
			_, err = claim.Run(t.Context(), db, friday, meta, pay, func(context.Context, pgx.Tx) error { return c.end() })
			require.EqualError(t, err, "claim payday@2026-W22: "+c.want)
			require.Equal(t, 0, effects(t, db)+claims(t, db))
			require.EqualValues(t, 0, db.Stat().AcquiredConns())
		})
	}

	t.Run("APanicTellsWhere", func(t *testing.T) {
		t.Parallel()
		_, err := claim.Run(t.Context(), newDB(t), friday, meta, func(context.Context, pgx.Tx) error { panic("boom") })
		panicked, ok := errors.AsType[*claim.PanicError](err)
		require.True(t, ok)
		require.Contains(t, panicked.Stack, "isolate_test.go")
	})
}

// TestG2StepThatIgnoresItsContext is cut off, whatever it is doing.
func TestG2StepThatIgnoresItsContext(t *testing.T) {
	t.Parallel()
	for name, busy := range map[string]func(tx pgx.Tx, release <-chan bool) error{
		"WhileItComputes": func(_ pgx.Tx, release <-chan bool) error { <-release; return nil },
		"WhileItWaitsForTheServer": func(tx pgx.Tx, release <-chan bool) error {
			_, err := tx.Exec(context.Background(), `SELECT pg_sleep(60)`)
			<-release
			return err
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDB(t)
			ctx, cancel := context.WithTimeout(t.Context(), 200*time.Millisecond)
			defer cancel()
			release, late := make(chan bool), make(chan error)
			started := time.Now()
			_, err := claim.Run(ctx, db, friday, meta, func(ctx context.Context, tx pgx.Tx) error {
				deaf := context.WithoutCancel(ctx)
				if err := pay(deaf, tx); err != nil {
					return err
				}
				_ = busy(tx, release)
				late <- errors.Join(pay(deaf, tx), tx.Commit(deaf))
				_, err := tx.Conn().Exec(deaf, `COMMIT`)
				late <- err
				return nil
			})
			require.EqualError(t, err, "claim payday@2026-W22: the step ignores that its context has ended: context deadline exceeded")
			require.ErrorIs(t, err, claim.ErrAbandoned)
			require.Less(t, time.Since(started), 5*time.Second)
			require.EqualValues(t, 0, db.Stat().AcquiredConns(), "the pool has its place back")

			// The step has not ended. Its transaction has.
			outcome, err := claim.Run(t.Context(), db, friday, meta, pay)
			require.NoError(t, err)
			require.Equal(t, claim.Ran, outcome)

			close(release)
			require.ErrorContains(t, <-late, "closed")
			require.Error(t, <-late)
			require.Equal(t, 1, effects(t, db))
			require.Equal(t, 1, claims(t, db))
		})
	}
}

func TestStepThatEndsWithItsContextIsNotCutOff(t *testing.T) {
	t.Parallel()
	db := newDB(t)
	ctx, cancel := context.WithCancel(t.Context())
	_, err := claim.Run(ctx, db, friday, meta, func(ctx context.Context, _ pgx.Tx) error {
		cancel()
		<-ctx.Done()
		return ctx.Err()
	})
	require.EqualError(t, err, "claim payday@2026-W22: context canceled")
	require.EqualValues(t, 1, db.Stat().TotalConns(), "the connection lives on")
}
