package command_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// K6: every metric of a schedule is there before its first run.
func TestK6MetricsAreThereFromTheStart(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	replica := start(t, db, []string{"LOG_FORMAT=json", asApp + "=years"}, "serve")
	at := address(t, replica)
	eventually(t, "the replica starts", func() bool { return strings.Contains(replica.stderr.String(), `"replica started"`) })
	var now series
	eventually(t, "the survey is of the database as it is now", func() bool {
		now = scrape(t, at)
		return now["ranura_replicas"] == 1
	})
	for _, metric := range []string{
		"ranura_attempts_failed_total", "ranura_catch_up_enqueued_total", "ranura_claims_lost_total", "ranura_failures_in_a_row",
		"ranura_jobs_cancelled_total", "ranura_jobs_discarded", "ranura_jobs_given_up_total", "ranura_last_success_timestamp_seconds",
		"ranura_slots_overdue",
	} {
		require.Zero(t, now.of(t, metric, "stuck"), metric)
	}
	require.InDelta(t, 366*24*3600, now.of(t, "ranura_schedule_interval_seconds", "stuck"), 24*3600)
	require.InDelta(t, time.Now().Unix(), now.of(t, "ranura_owed_since_timestamp_seconds", "stuck"), 60)
	require.Contains(t, now, `ranura_slots_total{name="stuck",outcome="ran",source="schedule"}`)
	require.Zero(t, now["ranura_replica_clock_skew_seconds"])
	require.InDelta(t, 8, now[`ranura_pool_connections{pool="control",state="max"}`], 0)
	require.InDelta(t, 15, now[`ranura_pool_connections{pool="worker",state="max"}`], 0)
}

func TestMetrics(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	replica := serve(t, db, "measured")
	at := address(t, replica)

	for range 2 {
		status, _ := request(t, http.MethodPost, at+"/schedules/stuck/run?slot=2026-01-01T00:00:00Z")
		require.Equal(t, http.StatusOK, status)
	}
	execute(t, db, `INSERT INTO river_job (kind, args, queue, max_attempts, tags) VALUES
		('stuck', '"text"', 'slots', 25, '{a}'),
		('notify_member', '{"member_id": 7, "kind": "k", "period": "p", "text": "t"}', 'default', 25, '{b}'),
		('notify_member', '[]', 'default', 25, '{c}')`)
	eventually(t, "the jobs cancel themselves", func() bool {
		return count(t, db, `SELECT count(*) FROM river_job WHERE state = 'cancelled'`) == 3 && count(t, db, `SELECT count(*) FROM beats`) > 3
	})
	eventually(t, "the metrics tell", func() bool { return scrape(t, at).of(t, "ranura_last_success_timestamp_seconds", "beat") > 0 })

	now := scrape(t, at)
	require.InDelta(t, 1, now[`ranura_slots_total{name="stuck",outcome="ran",source="manual"}`], 0)
	require.InDelta(t, 1, now.of(t, "ranura_claims_lost_total", "stuck"), 0, "the second run by hand")
	require.NotContains(t, now, `ranura_slot_lateness_seconds_count{name="stuck"}`, "what somebody asked for is not late")
	require.InDelta(t, 1, now.of(t, "ranura_jobs_cancelled_total", "stuck"), 0)
	require.InDelta(t, 2, now.of(t, "ranura_jobs_cancelled_total", "notify_member"), 0, "G3: the member is gone; and args that nobody can read")
	require.GreaterOrEqual(t, now.of(t, "ranura_slot_lateness_seconds_count", "beat"), 3.0)
	require.InDelta(t, time.Now().Unix(), now.of(t, "ranura_last_success_timestamp_seconds", "beat"), 20)
	for key := range now {
		require.NotRegexp(t, `[{,](attempt|tag|key|slot|job)=`, key, "what a job brings is no label")
	}
	require.InDelta(t, 2, now[`river_work_count_total{cancel="true",kind="notify_member",priority="1",queue="default",status="error"}`], 0)
	require.NotRegexp(t, `"WARN".*survey`, replica.stderr.String())
}

// K6 (a) and (b), as the metrics tell it: a slot that nobody enqueued, and one
// that fails.
func TestK6MetricsTellWhatDidNotRun(t *testing.T) {
	t.Parallel()
	db := oweOneSlot(t)
	replica := start(t, db, []string{"LOG_FORMAT=json", asApp + "=years"}, "serve")
	at := address(t, replica)
	eventually(t, "the slot runs", func() bool { return count(t, db, `SELECT count(*) FROM worker_runs`) == 1 })
	eventually(t, "catch-up had found it", func() bool { return scrape(t, at).of(t, "ranura_catch_up_enqueued_total", "stuck") == 1 })
	require.InDelta(t, 1, scrape(t, at)[`ranura_slots_total{name="stuck",outcome="ran",source="catch_up"}`], 0)

	// It has not run, after all, and its job is gone.
	execute(t, db, `WITH forgotten AS (DELETE FROM worker_runs), gone AS (DELETE FROM river_job)
		UPDATE worker_schedules SET resolved_through = date_trunc('year', now(), 'UTC') - interval '1 day'`)
	eventually(t, "it is overdue", func() bool { return scrape(t, at).of(t, "ranura_slots_overdue", "stuck") == 1 })
	require.Zero(t, scrape(t, at).of(t, "ranura_last_success_timestamp_seconds", "stuck"))
	requireAlerts(t, scrape(t, at), "RanuraSlotOverdue")

	// It was tried three times and given up.
	execute(t, db, `INSERT INTO river_job (kind, args, queue, max_attempts, state, finalized_at, errors)
		SELECT 'stuck', jsonb_build_object('key', year, 'slot', year), 'slots', 25, 'discarded', now(),
		       array_fill('{"at": "2026-01-01T00:00:00Z", "attempt": 1, "error": "no", "trace": ""}'::jsonb, ARRAY[3])
		FROM to_char(now(), 'YYYY-01-01"T"00:00:00"Z"') AS year`)
	eventually(t, "it is given up", func() bool { return scrape(t, at).of(t, "ranura_jobs_discarded", "stuck") == 1 })
	require.InDelta(t, 3, scrape(t, at).of(t, "ranura_failures_in_a_row", "stuck"), 0)
	requireAlerts(t, scrape(t, at), "RanuraSlotOverdue", "RanuraFailing", "RanuraJobDiscarded")

	// Nothing has run for longer than the schedule's year.
	execute(t, db, `UPDATE worker_schedules SET known_since = '2020-01-01Z', definition_changed_at = '2020-01-01Z'`)
	eventually(t, "the survey says so", func() bool { return scrape(t, at).of(t, "ranura_owed_since_timestamp_seconds", "stuck") < 1.6e9 })
	requireAlerts(t, scrape(t, at), "RanuraSlotOverdue", "RanuraFailing", "RanuraJobDiscarded", "RanuraNoSuccess")

	// Somebody runs it.
	status, _ := request(t, http.MethodPost, at+"/schedules/stuck/run")
	require.Equal(t, http.StatusOK, status)
	eventually(t, "all is well", func() bool {
		now := scrape(t, at)
		return now.of(t, "ranura_jobs_discarded", "stuck") == 0 && now.of(t, "ranura_slots_overdue", "stuck") == 0
	})
	now := scrape(t, at)
	requireAlerts(t, now)
	require.Zero(t, now.of(t, "ranura_failures_in_a_row", "stuck"))
	require.InDelta(t, time.Now().Unix(), now.of(t, "ranura_last_success_timestamp_seconds", "stuck"), 60)
}
