package workers

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
)

// statement runs the SQL of a stored schedule, with the rights of the service.
// The rows that it writes are its effects; those that a function writes, which
// it calls, are not counted.
type statement struct {
	name, sql string
	timeout   time.Duration
}

func (s statement) Name() string { return s.name }

// limitSQL sets the schedule's own limits for the transaction, in which the
// session's would be those of the code's schedules. A transaction_timeout
// (PostgreSQL 17) that runs is changed by nothing but its end.
const limitSQL = `
SELECT set_config('statement_timeout', $1, true),
       CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL THEN set_config('transaction_timeout', '0', true) END,
       CASE WHEN current_setting('transaction_timeout', true) IS NOT NULL THEN set_config('transaction_timeout', $2, true) END`

// limitGrace is for the completion and the commit.
const limitGrace = 5 * time.Second

func (s statement) Run(ctx context.Context, tx pgx.Tx, slot periodic.Slot) error {
	sql, args, err := bind(s.sql, slot)
	if err != nil {
		return err
	}
	if copying.MatchString(sql) {
		return errCopy
	}
	milliseconds := func(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }
	if _, err := tx.Exec(ctx, limitSQL, milliseconds(s.timeout), milliseconds(s.timeout+limitGrace)); err != nil {
		return fmt.Errorf("set timeouts: %w", err)
	}
	claim.Restore(tx) // it may set what outlasts the transaction
	_, err = tx.Exec(ctx, sql, args...)
	return err
}

// copying matches a COPY: it would wait for a client that sends or takes rows
// until its timeout.
var (
	copying = claim.Command(`copy`)
	errCopy = errors.New("sql: COPY needs a client at the other end: use INSERT … SELECT")
)

// Vet says what is wrong with an action, whichever replica runs it: the server
// prepares the statement, and executes nothing. An error is one that may pass.
func Vet(ctx context.Context, tx pgx.Tx, action periodic.Action) (wrong string, err error) {
	if action.SQL == "" {
		return "", nil // what else can be known, the table's trigger knows
	}
	sql, _, err := bind(action.SQL, periodic.Slot{})
	switch {
	case err != nil:
		return err.Error(), nil //nolint:nilerr // a mistake in the statement is the answer here
	case copying.MatchString(sql):
		return errCopy.Error(), nil
	case claim.EndsTransaction(sql):
		return "sql: the transaction is the claim's: leave out what ends it", nil
	}
	_, err = tx.Prepare(ctx, "", sql)
	if refused, ok := errors.AsType[*pgconn.PgError](err); ok && isMistake(refused.Code) {
		return "sql: " + refused.Message, nil
	}
	return "", err
}

// isMistake tells what is wrong with a statement (syntax, names, rights, types;
// what the server does not do) from what is wrong at the moment, such as a lock.
func isMistake(code string) bool {
	return strings.HasPrefix(code, "42") || strings.HasPrefix(code, "22") || strings.HasPrefix(code, "0A")
}
