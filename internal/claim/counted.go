package claim

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
)

// countedRows counts once, when the rows are closed: only then is the command
// tag known. Reading to the end closes them.
type countedRows struct {
	pgx.Rows

	guard   *guard
	counted bool
}

func (r *countedRows) Next() bool {
	if r.Rows.Next() {
		return true
	}
	r.Close()
	return false
}

func (r *countedRows) Close() {
	r.Rows.Close()
	if !r.counted {
		r.counted = true
		r.guard.count(r.CommandTag())
	}
}

// countedRow is pgx's Row over countedRows.
type countedRow struct {
	rows pgx.Rows
	err  error
}

func (r countedRow) Scan(dest ...any) error {
	if r.err != nil {
		return r.err
	}
	defer r.rows.Close()

	if !r.rows.Next() {
		if err := r.rows.Err(); err != nil {
			return err
		}
		return pgx.ErrNoRows
	}
	if err := r.rows.Scan(dest...); err != nil {
		return err
	}
	r.rows.Close()
	return r.rows.Err()
}

// SendBatch counts every statement of the batch, whether the step reads its
// result or leaves that to Close.
func (g *guard) SendBatch(ctx context.Context, batch *pgx.Batch) pgx.BatchResults {
	for _, queued := range batch.QueuedQueries {
		if EndsTransaction(queued.SQL) {
			return pgx.FailedBatchResults(batch, ErrTxOwned)
		}
		read := queued.Fn
		queued.Fn = func(results pgx.BatchResults) error {
			counted := countedBatch{results, g}
			if read != nil {
				return read(counted)
			}
			_, err := counted.Exec()
			return err
		}
	}
	return countedBatch{g.Tx.SendBatch(ctx, batch), g}
}

type countedBatch struct {
	pgx.BatchResults

	guard *guard
}

func (b countedBatch) Exec() (pgconn.CommandTag, error) {
	tag, err := b.BatchResults.Exec()
	b.guard.count(tag)
	return tag, err
}

func (b countedBatch) Query() (pgx.Rows, error) {
	rows, err := b.BatchResults.Query()
	if err != nil {
		return nil, err
	}
	return &countedRows{Rows: rows, guard: b.guard}, nil
}

func (b countedBatch) QueryRow() pgx.Row {
	rows, err := b.Query()
	return countedRow{rows, err}
}
