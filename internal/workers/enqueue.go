package workers

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"time"
	"unicode/utf8"

	"github.com/jackc/pgx/v5"
)

// EnqueueOpts say when a task's job is to run. Zero values are the defaults.
type EnqueueOpts struct {
	DedupeKey   string    // the task runs once for this key, whoever enqueues it and however often; "" is a job of its own
	ScheduledAt time.Time // not before; at once
}

// enqueueSQL calls the function that every language calls, so that a key means
// the same to all of them.
const enqueueSQL = `SELECT coalesce(enqueue_job($1, $2, nullif($3, ''), $4), 0)`

// Enqueue puts a task's job into the queue in the caller's transaction: it is
// there if and when that commits, and the workers hear of it then. It returns
// the job's id; for a DedupeKey that is known, the id of the job which is there
// or has run, and 0 if the key was claimed without a job.
//
// The task must be in the registry of a replica that has run on this database.
func Enqueue(ctx context.Context, tx pgx.Tx, task Task, opts EnqueueOpts) (id int64, err error) {
	args, err := encode(task)
	if err != nil {
		return 0, fmt.Errorf("enqueue %s: args: %w", task.Name(), err)
	}
	if wrong := unfit(opts.DedupeKey); wrong != nil {
		return 0, fmt.Errorf("enqueue %s: dedupe key: %w", task.Name(), wrong)
	}
	var at *time.Time
	if !opts.ScheduledAt.IsZero() {
		at = &opts.ScheduledAt
	}
	if err := tx.QueryRow(ctx, enqueueSQL, task.Name(), args, opts.DedupeKey, at).Scan(&id); err != nil {
		return 0, fmt.Errorf("enqueue %s: %w", task.Name(), err)
	}
	return id, nil
}

// encode refuses the texts that would not arrive as they are: a NUL, which
// Postgres has no place for, and bytes that are no UTF-8, which Go replaces
// without a word.
func encode(task Task) (string, error) {
	args, err := json.Marshal(task)
	if err != nil {
		return "", err
	}
	switch escapes := strings.ReplaceAll(string(args), `\\`, ``); {
	case strings.Contains(escapes, `\u0000`):
		return "", errNUL
	case strings.Contains(escapes, `\ufffd`):
		return "", errNotUTF8
	}
	return string(args), nil
}

var (
	errNUL     = errors.New("a text has a NUL character: leave it out")
	errNotUTF8 = errors.New("a text is not UTF-8: convert it")
)

// unfit says why a text is none that Postgres takes; finding that out there would
// cost the caller's transaction.
func unfit(text string) error {
	switch {
	case strings.ContainsRune(text, 0):
		return errNUL
	case !utf8.ValidString(text):
		return errNotUTF8
	}
	return nil
}
