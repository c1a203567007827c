package claim

import (
	"context"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
)

// marked is a key of a connection's custom data.
const marked = "ranura: restore"

// Restore is for a step that executes SQL which is not ours: when the transaction
// has ended, what that SQL did to the session (settings, role, session locks,
// temporary tables, prepared statements, LISTEN) is taken back before anybody
// else gets it.
func Restore(tx pgx.Tx) { tx.Conn().PgConn().CustomData()[marked] = true }

// release gives a connection back to its pool as it came, or closed: then the
// pool opens another one.
func release(ctx context.Context, db *pgxpool.Pool, conn *pgxpool.Conn) {
	defer conn.Release()
	if conn.Conn().IsClosed() || conn.Conn().PgConn().CustomData()[marked] == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), rollbackTimeout)
	defer cancel()
	err := conn.Conn().DeallocateAll(ctx) // pgx keeps count of its own
	if err == nil {
		_, err = conn.Exec(ctx, `DISCARD ALL`)
	}
	if prepare := db.Config().AfterConnect; err == nil && prepare != nil { // which may have set more than RESET knows
		err = prepare(ctx, conn.Conn())
	}
	if err != nil {
		_ = conn.Conn().Close(ctx)
		return
	}
	delete(conn.Conn().PgConn().CustomData(), marked)
}
