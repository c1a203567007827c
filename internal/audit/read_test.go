package audit_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/audit"
	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// newDigest knows a minutely schedule since noon, five slots of which have run.
func newDigest(t *testing.T) *pgxpool.Pool {
	t.Helper()
	db := postgrestest.New(t)
	write(t, db, `INSERT INTO worker_schedules (name, cron, zone, key_format, gap, fold, known_since, definition_changed_at)
		VALUES ('digest', '* * * * *', 'UTC', 'instant', 'skip', 'both', $1, $1)`, noon)
	write(t, db, `INSERT INTO worker_runs (name, key, slot_at, ran_at)
		SELECT 'digest', to_char(at AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24:MI:SS"Z"'), at, at + interval '1 second'
		FROM generate_series($1::timestamptz + interval '1 minute', $1::timestamptz + interval '5 minutes', '1 minute') at`, noon)
	return db
}

func write(t *testing.T, db *pgxpool.Pool, sql string, args ...any) {
	t.Helper()
	_, err := db.Exec(t.Context(), sql, args...)
	require.NoError(t, err)
}

func audited(t *testing.T, db *pgxpool.Pool, to time.Time) audit.Report {
	t.Helper()
	report, err := audit.Run(t.Context(), db, audit.Range{From: noon.Add(-time.Hour), To: to, LateAfter: time.Minute})
	require.NoError(t, err)
	return report
}

func TestRun(t *testing.T) {
	t.Parallel()
	end := slot(5).At

	t.Run("AHealthyDatabaseAgrees", func(t *testing.T) {
		t.Parallel()
		report, err := json.Marshal(audited(t, newDigest(t), end))
		require.NoError(t, err)
		require.JSONEq(t, `{"expected": 5, "ran": 5, "skipped": {},
			"missing": [], "doubled": [], "unexpected": [], "late": [], "forced": []}`, string(report), "lists are never null")
	})

	t.Run("ADeletedClaimIsMissing", func(t *testing.T) {
		t.Parallel()
		db := newDigest(t)
		write(t, db, `DELETE FROM worker_runs WHERE slot_at = $1`, slot(3).At)
		require.Equal(t, []string{slot(3).Key}, named(audited(t, db, end).Missing))
	})

	t.Run("ARangeOfSkipsIsAccountedFor", func(t *testing.T) {
		t.Parallel()
		db := newDigest(t)
		write(t, db, `INSERT INTO slot_skips (name, first_slot, last_slot, slots, outcome)
			VALUES ('digest', $1, $2, 20160, 'skipped_late')`, slot(6).At, slot(20165).At)
		report := audited(t, db, slot(20165).At)
		require.Equal(t, map[string]int{"skipped_late": 20160}, report.Skipped)
		require.True(t, report.Agrees())
	})

	t.Run("APlainInsertIsAClaim", func(t *testing.T) {
		t.Parallel()
		db := newDigest(t)
		write(t, db, `INSERT INTO worker_runs (name, key) VALUES ('digest', $1), ('digest', 'nonsense'), ('not_ours', 'x')`, slot(6).Key)
		report := audited(t, db, slot(6).At)
		require.Empty(t, report.Missing)
		require.Equal(t, []string{"nonsense"}, named(report.Unexpected))
	})

	t.Run("NothingIsOwedFromBeforeTheScheduleWasKnown", func(t *testing.T) {
		t.Parallel()
		db := newDigest(t)
		write(t, db, `UPDATE worker_schedules SET known_since = $1`, slot(3).At)
		require.Equal(t, 2, audited(t, db, end).Expected)
	})

	t.Run("AChangedScheduleIsJudgedFromItsChangeOn", func(t *testing.T) {
		t.Parallel()
		db := newDigest(t)
		write(t, db, `UPDATE worker_schedules SET cron = '*/2 * * * *', definition_changed_at = $1`, slot(4).At)
		report := audited(t, db, slot(6).At)
		require.Equal(t, []string{slot(6).Key}, named(report.Missing))
		require.Equal(t, []string{slot(5).Key}, named(report.Unexpected))
	})

	t.Run("ARemovedScheduleOwesNothingMore", func(t *testing.T) {
		t.Parallel()
		db := newDigest(t)
		write(t, db, `UPDATE worker_schedules SET removed_at = $1`, end)
		require.True(t, audited(t, db, slot(60).At).Agrees())
	})
}
