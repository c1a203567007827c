package incident_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// Three replicas, a minute apart, on Friday 29 May 2026 at 18:00.
var (
	mexicoCity = time.FixedZone("CST", -6*60*60)
	friday     = time.Date(2026, time.May, 29, 18, 0, 0, 0, mexicoCity)
	staggered  = []time.Time{friday, friday.Add(time.Minute), friday.Add(2 * time.Minute)}
)

// oldService is the service as it was, in small. Its tables have no unique
// keys, and so nothing hides what it does.
type oldService struct {
	db       *pgxpool.Pool
	replicas [3]*pgx.Conn // each has a session of its own, as locks go by session
	warnings []string     // their log
}

const oldTables = `
CREATE SCHEMA old;
CREATE TABLE old.payments (member text, coins integer);
CREATE TABLE old.notifications (member text, text text, at timestamptz);
CREATE TABLE old.sections (name text);
CREATE TABLE old.threads (section text, title text);
INSERT INTO old.sections VALUES ('general')`

func newOldService(t *testing.T) *oldService {
	t.Helper()
	s := &oldService{db: postgrestest.New(t)}
	_, err := s.db.Exec(t.Context(), oldTables)
	require.NoError(t, err)
	for i := range s.replicas {
		s.replicas[i], err = pgx.Connect(t.Context(), s.db.Config().ConnString())
		require.NoError(t, err)
		t.Cleanup(func() { require.NoError(t, s.replicas[i].Close(context.WithoutCancel(t.Context()))) })
	}
	return s
}

// wallets are the coins of each member, from the ledger.
func (s *oldService) wallets(t *testing.T) []string {
	t.Helper()
	return texts(t, s.db, `SELECT member || ' ' || sum(coins) FROM old.payments GROUP BY member ORDER BY member`)
}

func (s *oldService) renameSection(t *testing.T) {
	t.Helper()
	exec(t, s.db, `UPDATE old.sections SET name = 'charla'`)
}

// A task is what a tick found to do. It writes to the transaction that it is
// given and, unlike a worker, asks what time it is.
type task func(ctx context.Context, tx pgx.Tx, now time.Time) error

const tryLockSQL = `SELECT pg_try_advisory_xact_lock(hashtext('moderator_bot_worker'))`

// tick is one wake-up of one replica: a branch on the clock, and attempt 1, the
// lock, which ends with the transaction.
func (s *oldService) tick(ctx context.Context, replica int, now time.Time, do task) error {
	local := now.In(mexicoCity)
	if local.Weekday() != time.Friday || local.Hour() != 18 || local.Minute() >= 15 {
		return nil
	}
	return pgx.BeginFunc(ctx, s.replicas[replica], func(tx pgx.Tx) error {
		var free bool
		if err := tx.QueryRow(ctx, tryLockSQL).Scan(&free); err != nil || !free {
			return err
		}
		return do(ctx, tx, now)
	})
}

const closeWeekSQL = `
WITH top (member, medal) AS (VALUES ('ana', '🥇'), ('beto', '🥈'), ('caro', '🥉')),
paid AS (INSERT INTO old.payments SELECT member, 10 FROM top)
INSERT INTO old.notifications
SELECT member, medal || ' ¡Quedaste en el top 3! +10 Coins por tu actividad esta semana.', $1 FROM top`

func (s *oldService) closeWeek(ctx context.Context, tx pgx.Tx, now time.Time) error {
	if _, err := tx.Exec(ctx, closeWeekSQL, now); err != nil {
		return fmt.Errorf("close week: %w", err)
	}
	return s.postThread(ctx, tx, "🏆 Top 3 de la semana — 29 May 2026")
}

const threadExistsSQL = `SELECT EXISTS (SELECT FROM old.threads WHERE title = $1)`

// closeWeekUnlessPosted is attempt 2: the thread tells that the week is closed.
func (s *oldService) closeWeekUnlessPosted(ctx context.Context, tx pgx.Tx, now time.Time) error {
	var posted bool
	err := tx.QueryRow(ctx, threadExistsSQL, "🏆 Top 3 de la semana — 29 May 2026").Scan(&posted)
	if err != nil || posted {
		return err
	}
	return s.closeWeek(ctx, tx, now)
}

const postThreadSQL = `INSERT INTO old.threads SELECT name, $1 FROM old.sections WHERE name = 'general'`

// postThread is best effort: without its section it logs a warning and reports
// success.
func (s *oldService) postThread(ctx context.Context, tx pgx.Tx, title string) error {
	tag, err := tx.Exec(ctx, postThreadSQL, title)
	if err != nil {
		return fmt.Errorf("post thread: %w", err)
	}
	if tag.RowsAffected() == 0 {
		s.warnings = append(s.warnings, `post thread: section "general" not found`)
	}
	return nil
}

// claimed is attempt 3: the same task behind the claim. The key is the week of
// "now".
func (s *oldService) claimed(ctx context.Context, now time.Time, do task) (claim.Outcome, error) {
	year, week := now.In(mexicoCity).ISOWeek()
	key := claim.Key{Name: "leaderboard_close", Key: fmt.Sprintf("%04d-W%02d", year, week)}
	return claim.Run(ctx, s.db, key, claim.Meta{Source: claim.External}, func(ctx context.Context, tx pgx.Tx) error {
		return do(ctx, tx, now)
	})
}
