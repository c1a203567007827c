package doctor

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/replica"
	"github.com/ranura/ranura/migrations"
)

const serverSQL = `SELECT current_setting('server_version'), current_user::text`

// connection is writable: the pool refuses sessions that are not.
func connection(ctx context.Context, p Patient) (verdict, error) {
	var version, role string
	if err := p.DB.QueryRow(ctx, serverSQL).Scan(&version, &role); err != nil {
		return verdict{err.Error(), "check DATABASE_URL and that the server is up and writable; a pooler must be in session mode, or must not be in between"}, nil //nolint:nilerr // it is the finding
	}
	return verdict{found: fmt.Sprintf("PostgreSQL %s, writable, as %s", version, role)}, nil
}

func migrated(ctx context.Context, p Patient) (verdict, error) {
	states, err := migrations.Status(ctx, p.DB)
	if err != nil {
		return verdict{}, err
	}
	var pending []string
	for _, state := range states {
		if state.AppliedAt.IsZero() {
			pending = append(pending, fmt.Sprintf("%s %d", state.Line, state.Version))
		}
	}
	if len(pending) > 0 {
		return verdict{"pending: " + strings.Join(pending, ", "), "run: app migrate up"}, nil
	}
	return verdict{found: fmt.Sprintf("all %d applied", len(states))}, nil
}

// clock compares this machine's clock with the database's.
func clock(ctx context.Context, p Patient) (verdict, error) {
	asked := time.Now()
	now, err := periodic.Now(ctx, p.DB)
	if err != nil {
		return verdict{}, err
	}
	skew := periodic.Skew(asked, now, time.Now())
	if skew.Abs() > replica.MaxSkew {
		return verdict{fmt.Sprintf("this machine's clock is off by %s", skew.Round(time.Second)), "set it right (NTP); slots go by the database's clock, but retries, logs and the leader's timers by this one"}, nil
	}
	return verdict{found: fmt.Sprintf("within %s of the database's", max(skew.Abs(), time.Second).Round(time.Second))}, nil
}

const (
	listenSQL = `LISTEN ranura_doctor`
	notifySQL = `NOTIFY ranura_doctor`
)

// roundTrip is how long a notification may take.
const roundTrip = 3 * time.Second

// pooler sends itself a notification: one in transaction mode takes LISTEN and
// delivers nothing, without an error.
func pooler(ctx context.Context, p Patient) (verdict, error) {
	err := notified(ctx, p)
	if errors.Is(err, context.DeadlineExceeded) {
		err = fmt.Errorf("a notification did not arrive within %s", roundTrip)
	}
	if err != nil {
		return verdict{err.Error(), "connect to Postgres directly or through a pooler in session mode: in transaction mode LISTEN is lost, and prepared statements too"}, nil //nolint:nilerr // it is the finding
	}
	return verdict{found: "LISTEN and NOTIFY work"}, nil
}

func notified(ctx context.Context, p Patient) error {
	ctx, cancel := context.WithTimeout(ctx, roundTrip)
	defer cancel()
	conn, err := p.DB.Acquire(ctx)
	if err != nil {
		return err
	}
	listener := conn.Hijack() // not back to the pool: it would go on listening there
	defer func() { _ = listener.Close(context.WithoutCancel(ctx)) }()
	if _, err := listener.Exec(ctx, listenSQL); err != nil {
		return err
	}
	if _, err := p.DB.Exec(ctx, notifySQL); err != nil {
		return err
	}
	_, err = listener.WaitForNotification(ctx)
	return err
}

const limitsSQL = `
SELECT format('%s = %s', name, current_setting(name)) FROM pg_settings
WHERE name IN ('idle_in_transaction_session_timeout', 'statement_timeout', 'transaction_timeout')
  AND setting::bigint > 0 AND setting::bigint < $1
ORDER BY name`

// limits are those of a session as the workers have it. The pool sets them, but
// a pooler may drop what it sets.
func limits(ctx context.Context, p Patient) (verdict, error) {
	longest := p.Registry.LongestTimeout()
	short, err := texts(ctx, p, limitsSQL, longest.Milliseconds())
	if err != nil {
		return verdict{}, err
	}
	if len(short) > 0 {
		return verdict{fmt.Sprintf("%s, and an attempt may take %s", strings.Join(short, ", "), longest),
			"raise them for this role or database, or leave out the pooler that drops the session's own settings: the server ends attempts in the middle"}, nil
	}
	return verdict{found: fmt.Sprintf("none is shorter than the longest timeout, %s", longest)}, nil
}

const durabilitySQL = `
SELECT name FROM pg_settings WHERE name IN ('fsync', 'full_page_writes', 'synchronous_commit') AND setting = 'off' ORDER BY name`

func durability(ctx context.Context, p Patient) (verdict, error) {
	off, err := texts(ctx, p, durabilitySQL)
	if err != nil {
		return verdict{}, err
	}
	if len(off) > 0 {
		return verdict{strings.Join(off, ", ") + " off", "turn it on: a crash of the server may forget claims that were acknowledged, and their slots run twice"}, nil
	}
	return verdict{found: "an acknowledged commit survives a crash of the server"}, nil
}

func texts(ctx context.Context, p Patient, sql string, args ...any) ([]string, error) {
	rows, err := p.DB.Query(ctx, sql, args...)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowTo[string])
}
