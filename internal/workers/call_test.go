package workers_test

import (
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

const probeKey = "probe/" + fridayKey

func TestCall(t *testing.T) {
	t.Parallel()

	t.Run("ClaimAnswerAndCompletionAreOneTransactionAfterTheCall", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		open := make(chan int, 100)
		endpoints, seen := receive(t, func(w http.ResponseWriter, r *http.Request) {
			n := -1
			_ = db.QueryRow(r.Context(), `SELECT count(*) FROM pg_locks WHERE relation = 'worker_runs'::regclass AND pid <> pg_backend_pid()`).Scan(&n)
			open <- n
			say(200, `done`)(w, r)
		})
		a := startCalling(t, db, endpoints, onQuartersCalling(caller{}))
		a.insertCall(t)
		require.NoError(t, a.attempt(t))
		require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
		require.Zero(t, await(t, open), "open claim transactions while the endpoint works")
		got := await(t, seen)
		require.Equal(t, request{probeKey, got.id, "/jobs/probe", `{"name":"probe","key":"2025-05-31T00:00:00Z","slot":"2025-05-31T00:00:00Z"}`}, got)
		require.Equal(t, []string{`ran {"body": "done", "status": 200, "endpoint": "app"}`}, outputs(t, db))
		require.Equal(t, 1, count(t, db, `SELECT count(*) FROM effects e, river_job j, worker_runs r WHERE e.xmin = j.xmin AND j.xmin = r.xmin AND r.effects = 1`))
		require.Empty(t, seen)
	})

	t.Run("WhatHasRunIsNotCalledFor", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		endpoints, seen := receive(t, say(200, ""))
		a := startCalling(t, db, endpoints, onQuartersCalling(caller{}))
		write(t, db, `INSERT INTO worker_runs (name, key) VALUES ('probe', $1)`, fridayKey)
		a.insertCall(t)
		require.NoError(t, a.attempt(t))
		require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
		require.Empty(t, seen)
	})

	// Then the endpoint's claim, which knows neither slot nor job, is the slot's.
	t.Run("AnEndpointOnTheSameDatabaseClaimsFirst", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		endpoints, seen := receive(t, func(w http.ResponseWriter, r *http.Request) {
			if _, err := db.Exec(r.Context(), `SELECT claim_run('probe', $1)`, fridayKey); err != nil {
				w.WriteHeader(http.StatusInternalServerError)
			}
			say(200, `done`)(w, r)
		})
		a := startCalling(t, db, endpoints, onQuartersCalling(caller{}))
		a.insertCall(t)
		require.NoError(t, a.attempt(t))
		job := a.settled(t)
		require.Equal(t, rivertype.JobStateCompleted, job.State)
		require.Len(t, seen, 1)
		record, err := claim.Find(t.Context(), db, claim.Key{Name: "probe", Key: fridayKey})
		require.NoError(t, err)
		require.Equal(t, friday, record.Slot.UTC())
		require.Equal(t, claim.External, record.Source)
		require.Equal(t, job.ID, *record.JobID)
		require.Equal(t, 1, *record.Attempt)
		require.NotNil(t, record.Replica)
		require.JSONEq(t, `{"endpoint": "app", "status": 200, "body": "done"}`, string(record.Output))
		requireTotals(t, db, 0, 1) // the endpoint's work is the work
	})

	// Its record is no claim: the endpoint must not take it for one.
	t.Run("AnEndpointOnTheSameDatabaseClaimsWhatWasRefused", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		claims := func(w http.ResponseWriter, r *http.Request) {
			_, err := db.Exec(r.Context(), `INSERT INTO effects (key) SELECT 'endpoint' WHERE claim_run('probe', $1)`, fridayKey)
			say(map[bool]int{true: 200, false: 500}[err == nil], "")(w, r)
		}
		endpoints, _ := receive(t, answers(say(404, "not yet"), say(500, "still not"), claims))
		a := startCalling(t, db, endpoints, onQuartersCalling(caller{}))
		id := a.insertCall(t)
		require.ErrorContains(t, a.attempt(t), "404")
		require.Equal(t, rivertype.JobStateCancelled, a.settled(t).State)
		refused := texts(t, db, `SELECT to_jsonb(worker_runs)::text FROM worker_runs`)
		require.Contains(t, refused[0], `"refused"`)

		a.retry(t, id)
		require.ErrorContains(t, a.attempt(t), "500")
		a.settled(t)
		require.Equal(t, refused, texts(t, db, `SELECT to_jsonb(worker_runs)::text FROM worker_runs`), "it is put back")

		a.retry(t, id)
		require.NoError(t, a.attempt(t))
		require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
		require.Equal(t, []string{"endpoint"}, texts(t, db, `SELECT key FROM effects`))
		require.Equal(t, []string{`ran {"status": 200, "endpoint": "app"}`}, outputs(t, db))
	})

	t.Run("AnEndpointOnTheSameDatabaseClaimsWhatWasSkipped", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		endpoints, _ := receive(t, func(w http.ResponseWriter, r *http.Request) {
			_, err := db.Exec(r.Context(), `INSERT INTO effects (key) SELECT 'endpoint' WHERE claim_run('probe', $1)`, fridayKey)
			say(map[bool]int{true: 200, false: 500}[err == nil], "")(w, r)
		})
		write(t, db, `INSERT INTO worker_runs (name, key, outcome) VALUES ('probe', $1, 'skipped_paused')`, fridayKey)
		runner := newRunner(db)
		runner.Endpoints = endpoints
		scheduled, err := newRegistry(t, onQuartersCalling(caller{})).Find("probe")
		require.NoError(t, err)
		result, err := runner.RunByHand(t.Context(), db, scheduled, workers.Request{Slot: friday, Source: claim.Manual})
		require.NoError(t, err)
		require.Equal(t, claim.Ran, result.Outcome)
		require.Equal(t, []string{"endpoint"}, texts(t, db, `SELECT key FROM effects`))
	})

	t.Run("AnEndpointOnTheSameDatabaseWhoseAnswerIsLost", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		endpoints, seen := receive(t, func(w http.ResponseWriter, r *http.Request) {
			_, _ = db.Exec(r.Context(), `SELECT claim_run('probe', $1)`, fridayKey)
			say(502, "lost")(w, r)
		})
		a := startCalling(t, db, endpoints, onQuartersCalling(caller{}))
		id := a.insertCall(t)
		require.ErrorContains(t, a.attempt(t), "502")
		a.settled(t)
		a.retry(t, id)
		require.NoError(t, a.attempt(t))
		job := a.settled(t)
		require.Equal(t, rivertype.JobStateCompleted, job.State)
		record, err := claim.Find(t.Context(), db, claim.Key{Name: "probe", Key: fridayKey})
		require.NoError(t, err)
		require.Equal(t, friday, record.Slot.UTC())
		require.Equal(t, job.ID, *record.JobID)
		require.Empty(t, record.Output, "nobody knows what it answered")
		require.Len(t, seen, 1, "it is not called again")
	})

	t.Run("WhatIsPausedIsNotCalledFor", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		endpoints, seen := receive(t, say(200, ""))
		store(t, db, `paused_at = now()`)
		a := startCalling(t, db, endpoints, onQuartersCalling(caller{}))
		a.insertCall(t)
		require.NoError(t, a.attempt(t))
		require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
		require.Equal(t, []string{"skipped_paused -"}, outputs(t, db))
		require.Empty(t, seen)
	})

	t.Run("WhatFailsAfterTheCallIsCalledForAgainWithTheSameKey", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		endpoints, seen := receive(t, say(200, ""))
		a := startCalling(t, db, endpoints, onQuartersCalling(failing(1)))
		id := a.insertCall(t)
		require.ErrorContains(t, a.attempt(t), "section not found")
		require.Equal(t, rivertype.JobStateRetryable, a.settled(t).State)
		requireTotals(t, db, 0, 0)
		a.retry(t, id)
		require.NoError(t, a.attempt(t))
		requireRepeat(t, await(t, seen), await(t, seen))
		requireTotals(t, db, 1, 1)
	})

	t.Run("ARequestThatPanicsFailsItsAttempt", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		endpoints, seen := receive(t, say(200, ""))
		a := startCalling(t, db, endpoints, workers.On(panics{}, quarters(periodic.Policy{})))
		_, err := a.Insert(t.Context(), workers.Args[panics]{Key: fridayKey, Slot: friday}, periodic.InsertOpts())
		require.NoError(t, err)
		require.EqualError(t, a.attempt(t), "claim "+"probe@"+fridayKey+": panic: no request")
		requireTotals(t, db, 0, 0)
		require.Empty(t, seen)
	})

	// The endpoint, like the ledger, refuses what a forced run would do twice.
	t.Run("ByHandAndForcedKeepTheSlotsKey", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		endpoints, seen := receive(t, answers(say(404, "not yet"), say(200, "")))
		runner := newRunner(db)
		runner.Endpoints = endpoints
		scheduled, err := newRegistry(t, onQuartersCalling(caller{})).Find("probe")
		require.NoError(t, err)
		byHand := workers.Request{Slot: friday, Source: claim.Manual}
		_, err = runner.RunByHand(t.Context(), db, scheduled, byHand)
		require.EqualError(t, err, `call for probe@2025-05-31T00:00:00Z: deliver to "app" /jobs/probe: answered 404 Not Found: not yet`)
		require.Equal(t, 1, count(t, db, `SELECT count(*) FROM worker_runs WHERE outcome = 'refused'`))
		for range 2 {
			result, err := runner.RunByHand(t.Context(), db, scheduled, byHand)
			require.NoError(t, err)
			require.JSONEq(t, `{"endpoint": "app", "status": 200}`, string(result.Run.Output))
			byHand.Force = true
		}
		first := await(t, seen)
		requireRepeat(t, first, await(t, seen))
		requireRepeat(t, first, await(t, seen))
		requireTotals(t, db, 2, 2)
	})

	t.Run("SlotsThatMustNotOverlapAreRefusedAtTheStart", func(t *testing.T) {
		t.Parallel()
		_, err := workers.NewRegistry([]workers.Entry{workers.On(caller{}, quarters(periodic.Policy{Overlap: periodic.Wait}))}, friday)
		require.ErrorContains(t, err, `schedule "probe": Overlap: "wait": while its worker calls an endpoint no transaction is open`)
	})
}

func TestCallThatFails(t *testing.T) {
	t.Parallel()

	t.Run("IsTriedAgain", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		endpoints, _ := receive(t, answers(say(500, "no disk, "+secret+"\x00"), say(200, "a\x00b")))
		a := startCalling(t, db, endpoints, onQuartersCalling(caller{}))
		id := a.insertCall(t)
		require.EqualError(t, a.attempt(t), `call for probe@2025-05-31T00:00:00Z: deliver to "app" /jobs/probe: answered 500 Internal Server Error: no disk, [redacted]`)
		require.Equal(t, rivertype.JobStateRetryable, a.settled(t).State)
		requireTotals(t, db, 0, 0)
		a.retry(t, id)
		require.NoError(t, a.attempt(t))
		require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
		require.Equal(t, []string{`ran {"body": "a b", "status": 200, "endpoint": "app"}`}, outputs(t, db))
		require.Zero(t, count(t, db, `SELECT count(*) FROM river_job WHERE strpos(river_job::text, 'canary') + strpos(river_job::text, '`+secret+`') > 0`))
		require.NotContains(t, strings.Join(a.logged(), ""), secret)
	})

	t.Run("ComesBackWhenTheEndpointSays", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		endpoints, _ := receive(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "300")
			say(429, "")(w, r)
		})
		a := startCalling(t, db, endpoints, onQuartersCalling(caller{}))
		a.insertCall(t)
		require.ErrorContains(t, a.attempt(t), "answered 429 Too Many Requests")
		job := a.settled(t)
		require.Equal(t, rivertype.JobStateRetryable, job.State)
		require.WithinRange(t, job.ScheduledAt, job.AttemptedAt.Add(time.Hour+5*time.Minute), time.Now().Add(time.Hour+5*time.Minute))
		require.Contains(t, job.Errors[0].Error, "429", "whoever looks sees why the slot has not run")
		requireTotals(t, db, 0, 0)
	})

	t.Run("IsGivenUpByItsAgeWhateverTheEndpointSays", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		endpoints, _ := receive(t, func(w http.ResponseWriter, r *http.Request) {
			w.Header().Set("Retry-After", "300")
			say(429, "")(w, r)
		})
		a := startCalling(t, db, endpoints, onQuartersCalling(caller{}))
		id := a.insertCall(t)
		require.Equal(t, rivertype.JobStateRetryable, a.settled(t).State)
		write(t, db, failedSinceSQL, "2 days")
		a.retry(t, id)
		require.Equal(t, rivertype.JobStateDiscarded, a.settled(t).State)
	})

	t.Run("ForGoodEndsTheJobWithItsReason", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		endpoints, seen := receive(t, answers(say(410, "moved away"), say(200, "back")))
		a := startCalling(t, db, endpoints, onQuartersCalling(caller{}))
		id := a.insertCall(t)
		const reason = `call for probe@2025-05-31T00:00:00Z: deliver to "app" /jobs/probe: answered 410 Gone: moved away`
		require.ErrorContains(t, a.attempt(t), reason)
		job := a.settled(t)
		require.Equal(t, rivertype.JobStateCancelled, job.State)
		require.Contains(t, job.Errors[0].Error, reason)
		requireTotals(t, db, 0, 1)
		require.Equal(t, []string{`refused {"body": "moved away", "error": "deliver to \"app\" /jobs/probe: answered 410 Gone: moved away", "status": 410, "endpoint": "app"}`}, outputs(t, db))
		require.Equal(t, 1, strings.Count(strings.Join(a.logged(), ""), `level=ERROR msg="gave up" name=probe key=2025-05-31T00:00:00Z attempts=1 error="call for probe@`))

		a.retry(t, id) // somebody has mended the endpoint
		require.NoError(t, a.attempt(t))
		require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
		require.Equal(t, []string{`ran {"body": "back", "status": 200, "endpoint": "app"}`}, outputs(t, db))
		requireRepeat(t, await(t, seen), await(t, seen))
	})
}

// requireRepeat compares what a receiver got of one slot in two attempts.
func requireRepeat(t *testing.T, first, second request) {
	t.Helper()
	require.Equal(t, probeKey, first.key)
	require.Equal(t, first, second)
}
