package claim

import (
	"context"
	"errors"
	"fmt"
	"runtime/debug"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// unwind is how long a step may go on after its context has ended: enough for
// a statement to be cancelled and for deferred calls.
const unwind = time.Second

// ErrAbandoned means that a step ignored the end of its context. It was cut
// off from the database, where nothing of it remains, and may still be running.
var ErrAbandoned = errors.New("the step ignores that its context has ended")

// errExited is what becomes of a step that ends its goroutine, as a test's
// FailNow does. Without it, whoever waits for the step would wait for ever.
var errExited = errors.New("the step called runtime.Goexit")

// A PanicError is a step's panic. Its message names the value; the stack is
// for the log.
type PanicError struct {
	Value string
	Stack string
}

func (e *PanicError) Error() string { return "panic: " + e.Value }

// isolate takes a step in a goroutine of its own, so that whatever the step
// does, it comes to an end as an error here: within unwind of the context's
// end. Only a panic in a goroutine that the step started is beyond it.
func isolate(ctx context.Context, step Step, tx pgx.Tx) error {
	ended := make(chan error, 1) // nobody may be left to hear of it
	go func() {
		err := errExited
		defer func() {
			if value := recover(); value != nil {
				err = &PanicError{Value: fmt.Sprint(value), Stack: string(debug.Stack())}
			}
			ended <- err
		}()
		err = presentable(step(ctx, tx))
	}()

	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended:
		return err
	case <-time.After(unwind):
		return fmt.Errorf("%w: %w", ErrAbandoned, ctx.Err())
	}
}

// presentable returns err, unless it panics when it is asked what it is, as a
// nil pointer inside an error does: the caller would ask it outside any
// recover, and the process would end.
func presentable(err error) (presentable error) {
	if err == nil {
		return nil
	}
	defer func() {
		if value := recover(); value != nil {
			presentable = fmt.Errorf("the step returned an error of type %T that panics when it is read (%v): is it a nil pointer?", err, value)
		}
	}()
	var other *PanicError
	_, _, _ = err.Error(), errors.Is(err, errExited), errors.As(err, &other)
	return err
}

// cut takes a connection from the step that still uses it. The step's next
// word on it is an error, and the server rolls back at once: it sees that the
// client is gone, or pgx, whose call fails, asks it to cancel the statement.
// Only what may be touched beside a step at work is touched: a pgx connection
// is for one goroutine, its network connection is for any. The pool has its
// place back.
func cut(conn *pgxpool.Conn) { _ = conn.Hijack().PgConn().Conn().Close() }
