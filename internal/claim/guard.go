package claim

import (
	"context"
	"regexp"
	"strings"
	"sync/atomic"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// guard is the transaction as a step sees it. It cannot be ended, and it
// counts the rows which the step inserts, updates, deletes, merges and copies,
// by the command tag of each statement: a data-modifying CTE counts as its
// main statement does.
type guard struct {
	pgx.Tx

	written atomic.Int64 // a step that was abandoned may still count
}

func (g *guard) Commit(context.Context) error   { return ErrTxOwned }
func (g *guard) Rollback(context.Context) error { return ErrTxOwned }

// Begin starts a savepoint. Its rows count when it is released.
func (g *guard) Begin(ctx context.Context) (pgx.Tx, error) {
	inner, err := g.Tx.Begin(ctx)
	if err != nil {
		return nil, err
	}
	return &savepoint{guard: guard{Tx: inner}, outer: g}, nil
}

// Exec goes through Query because of the protocol: pgx sends a statement
// without arguments as simple text, where "UPDATE …; COMMIT" is two statements.
// The extended protocol takes one at a time.
func (g *guard) Exec(ctx context.Context, sql string, arguments ...any) (pgconn.CommandTag, error) {
	rows, err := g.Query(ctx, sql, arguments...)
	if err != nil {
		return pgconn.CommandTag{}, err
	}
	rows.Close()
	return rows.CommandTag(), rows.Err()
}

func (g *guard) Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error) {
	if EndsTransaction(sql) {
		return nil, ErrTxOwned
	}
	rows, err := g.Tx.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return &countedRows{Rows: rows, guard: g}, nil
}

func (g *guard) QueryRow(ctx context.Context, sql string, args ...any) pgx.Row {
	rows, err := g.Query(ctx, sql, args...)
	return countedRow{rows, err}
}

func (g *guard) Prepare(ctx context.Context, name, sql string) (*pgconn.StatementDescription, error) {
	if EndsTransaction(sql) {
		return nil, ErrTxOwned
	}
	return g.Tx.Prepare(ctx, name, sql)
}

func (g *guard) CopyFrom(ctx context.Context, table pgx.Identifier, columns []string, source pgx.CopyFromSource) (int64, error) {
	n, err := g.Tx.CopyFrom(ctx, table, columns, source)
	g.written.Add(n)
	return n, err
}

func (g *guard) count(tag pgconn.CommandTag) {
	if tag.Insert() || tag.Update() || tag.Delete() || strings.HasPrefix(tag.String(), "MERGE ") {
		g.written.Add(tag.RowsAffected())
	}
}

// savepoint is a guard that its owner may end: that is RELEASE or ROLLBACK TO.
type savepoint struct {
	guard

	outer *guard
}

func (s *savepoint) Commit(ctx context.Context) error {
	if err := s.Tx.Commit(ctx); err != nil {
		return err
	}
	s.outer.written.Add(s.written.Swap(0))
	return nil
}

func (s *savepoint) Rollback(ctx context.Context) error { return s.Tx.Rollback(ctx) }

// Command matches a statement that begins with one of the keywords, a part of a
// regular expression, behind white space, semicolons and comments.
func Command(keywords string) *regexp.Regexp {
	return regexp.MustCompile(`(?is)^(\s|\v|;|--[^\r\n]*([\r\n]|$)|/\*.*?\*/)*(` + keywords + `)\b`)
}

// ending matches the statements that end a transaction. ROLLBACK TO is among them on purpose: rows counted
// since the savepoint would stay counted. tx.Begin does it right.
var ending = Command(`commit|end|abort|rollback|prepare\s+transaction`)

// EndsTransaction reports whether a statement is one that no step may execute.
func EndsTransaction(sql string) bool { return ending.MatchString(sql) }
