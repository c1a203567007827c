// Package postgres opens the service's connection pools, and runs private
// servers for development and tests.
package postgres

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"strconv"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// The server ends what a client cannot, because the client may be frozen or
// cut off: a peer that waits for its claim must not wait for a TCP default of
// two hours.
const (
	grace          = 5 * time.Second  // a job's context ends first, so its error names the job and not a lost connection
	controlTimeout = time.Minute      // River bounds its own statements, except the rescuer's, which would wait for ever
	connectTimeout = 5 * time.Second  // pgx's default of two minutes outlasts a failover
	lockTimeout    = 10 * time.Second // for a claim that a peer holds; then again from the start
)

// OpenWorkers opens the pool of the workers' transactions, of at most conns
// connections: one for each job that runs at once. jobTimeout is the longest
// that any job may take, and the server's limits are no shorter: it ends a
// statement after it, a transaction that says nothing 5 s later, and so any
// transaction (PostgreSQL 17 and newer). A job with a shorter timeout is ended
// by its context; the server is for clients that can no longer do so. Statements get generic plans, because
// planning River's completion anew costs more than executing it.
//
// Like [OpenControl] it checks url and does not connect: the database may be
// away when a replica starts. Every session is writable when it is opened, and
// is closed once a write fails because it no longer is, so that the pool finds
// the new primary after a failover. The pools must reach Postgres directly or
// through a pooler in session mode.
func OpenWorkers(ctx context.Context, url, replica string, jobTimeout time.Duration, conns int32) (*pgxpool.Pool, error) {
	return open(ctx, url, jobTimeout, conns, map[string]string{
		"application_name": "ranura/" + replica + " worker",
		"plan_cache_mode":  "force_generic_plan",
	})
}

// OpenControl opens the pool of everything else: River's election, fetch and
// notifications, catch-up, health. It is apart from the workers' pool so that
// busy workers cannot cost the leadership.
func OpenControl(ctx context.Context, url, replica string, conns int32) (*pgxpool.Pool, error) {
	return open(ctx, url, controlTimeout, conns, map[string]string{
		"application_name": "ranura/" + replica + " control",
	})
}

func open(ctx context.Context, url string, timeout time.Duration, conns int32, params map[string]string) (*pgxpool.Pool, error) {
	config, err := parseURL(url)
	if err != nil {
		return nil, fmt.Errorf("database URL %w", err)
	}
	config.MaxConns = conns
	config.PingTimeout = connectTimeout
	config.ConnConfig.ConnectTimeout = connectTimeout
	maps.Copy(config.ConnConfig.RuntimeParams, sessionSettings(timeout))
	maps.Copy(config.ConnConfig.RuntimeParams, params)
	refuseReadOnly(config.ConnConfig)
	config.AfterConnect = func(ctx context.Context, conn *pgx.Conn) error {
		return setWhereSupported(ctx, conn, timeout+grace)
	}
	pool, err := pgxpool.NewWithConfig(ctx, config)
	if err != nil {
		return nil, fmt.Errorf("open pool: %w", err)
	}
	return pool, nil
}

// sessionSettings are known to every supported server. They travel with the
// connection's start, at no round trip of their own.
func sessionSettings(timeout time.Duration) map[string]string {
	return map[string]string{
		"default_transaction_isolation":       "read committed", // above it a lost claim is an error, not a duplicate
		"idle_in_transaction_session_timeout": milliseconds(timeout + grace),
		"lock_timeout":                        milliseconds(lockTimeout),
		"statement_timeout":                   milliseconds(timeout),
		"tcp_keepalives_count":                "3",
		"tcp_keepalives_idle":                 "5",
		"tcp_keepalives_interval":             "2",
		"tcp_user_timeout":                    "10000", // keepalives alone do not end a session with unacknowledged data
	}
}

func milliseconds(d time.Duration) string { return strconv.FormatInt(d.Milliseconds(), 10) }

// refuseReadOnly keeps a standby, or a primary that became one, out of the
// pool. After a failover its open connections still answer, but every write
// fails; returning false closes the connection and the pool makes a new one.
func refuseReadOnly(config *pgx.ConnConfig) {
	if config.ValidateConnect == nil {
		config.ValidateConnect = pgconn.ValidateConnectTargetSessionAttrsReadWrite
	}
	closeOnFatal := config.OnPgError
	config.OnPgError = func(conn *pgconn.PgConn, err *pgconn.PgError) bool {
		return err.Code != pgerrcode.ReadOnlySQLTransaction && closeOnFatal(conn, err)
	}
}

const setTransactionTimeout = `
SELECT set_config('transaction_timeout', $1, false)
WHERE current_setting('transaction_timeout', true) IS NOT NULL`

const setConnectionCheck = `SELECT set_config('client_connection_check_interval', '5s', false)`

// setWhereSupported sets what some servers lack: transaction_timeout before
// PostgreSQL 17, and the check for a client that is gone on some operating
// systems, which refuse every value but 0.
func setWhereSupported(ctx context.Context, conn *pgx.Conn, transaction time.Duration) error {
	if _, err := conn.Exec(ctx, setTransactionTimeout, milliseconds(transaction)); err != nil {
		return fmt.Errorf("set transaction_timeout: %w", err)
	}
	_, err := conn.Exec(ctx, setConnectionCheck)
	var refused *pgconn.PgError
	if errors.As(err, &refused) && refused.Code == pgerrcode.InvalidParameterValue {
		return nil
	}
	if err != nil {
		return fmt.Errorf("set client_connection_check_interval: %w", err)
	}
	return nil
}
