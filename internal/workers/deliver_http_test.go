package workers_test

import (
	"encoding/json"
	"testing"

	"github.com/riverqueue/river/rivertype"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/workers"
)

func TestDeliverHTTP(t *testing.T) {
	t.Parallel()

	t.Run("PostsItsBodyOnceUnderItsKey", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		endpoints, seen := receive(t, say(202, "taken"))
		a := startCalling(t, db, endpoints, workers.OnDemand(workers.DeliverHTTP{}))
		for range 2 {
			enqueue(t, db, workers.DeliverHTTP{Endpoint: "app", Path: "/mail", Body: json.RawMessage(`{"to": 7}`)}, "mail 7")
		}
		require.NoError(t, a.attempt(t))
		require.Equal(t, rivertype.JobStateCompleted, a.settled(t).State)
		got := await(t, seen)
		require.Equal(t, request{"deliver_http/mail%207", got.id, "/mail", `{"to":7}`}, got)
		require.Equal(t, []string{`ran {"body": "taken", "status": 202, "endpoint": "app"}`}, outputs(t, db))
		require.Empty(t, seen)
	})

	t.Run("WithoutABodySaysWhichJobItIs", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		endpoints, seen := receive(t, say(200, ""))
		a := startCalling(t, db, endpoints, workers.OnDemand(workers.DeliverHTTP{}))
		enqueue(t, db, workers.DeliverHTTP{Endpoint: "app", Path: "/mail"}, "k")
		require.NoError(t, a.attempt(t))
		require.JSONEq(t, `{"name": "deliver_http", "key": "k"}`, await(t, seen).body)
	})

	// An endpoint may be on its way to this replica; a path is wrong for ever.
	t.Run("WhatCannotBeSent", func(t *testing.T) {
		t.Parallel()
		db := newEffects(t)
		endpoints, seen := receive(t, say(200, ""))
		a := startCalling(t, db, endpoints, workers.OnDemand(workers.DeliverHTTP{}))
		enqueue(t, db, workers.DeliverHTTP{Endpoint: "apq", Path: "/mail"}, "endpoint")
		require.EqualError(t, a.attempt(t), `call for deliver_http@endpoint: unknown endpoint "apq": configured here: app`)
		require.Equal(t, rivertype.JobStateRetryable, a.settled(t).State)
		enqueue(t, db, workers.DeliverHTTP{Endpoint: "app", Path: "//evil.example/?token=canary"}, "path")
		job := a.settled(t)
		require.Equal(t, rivertype.JobStateCancelled, job.State)
		require.NotContains(t, job.Errors[0].Error, "canary")
		record, err := claim.Find(t.Context(), db, claim.Key{Name: "deliver_http", Key: "path"})
		require.NoError(t, err)
		require.Equal(t, "refused", record.Outcome)
		require.Contains(t, string(record.Output), `path: write it as /jobs/friday`)
		require.Empty(t, seen)
	})
}
