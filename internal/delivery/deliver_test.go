package delivery_test

import (
	"context"
	"encoding/json"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	"go.opentelemetry.io/otel/trace"

	"github.com/ranura/ranura/internal/delivery"
)

func TestDeliver(t *testing.T) {
	t.Parallel()

	t.Run("SendsTheBodyToTheNamedPlace", func(t *testing.T) {
		t.Parallel()
		url, seen := listen(t, ok)
		answer, err := at(t, url+"/base/").Deliver(t.Context(), friday(), fridayKey, now)
		require.NoError(t, err)
		require.Equal(t, delivery.Answer{Endpoint: "app", Status: 200, Body: `{"done":true}`}, answer)
		got := <-seen
		require.Equal(t, "POST", got.Method)
		require.Equal(t, "/base/jobs/friday", got.RequestURI)
		require.JSONEq(t, `{"key":"2026-W22"}`, got.body)
		require.Equal(t, "application/json", got.Header.Get("Content-Type"))
		require.Equal(t, "friday/2026-W22", got.Header.Get("Idempotency-Key"))
		require.Equal(t, "1780099202", got.Header.Get("Webhook-Timestamp"))
		require.True(t, verify(current, got))
	})

	t.Run("EachAttemptHasOneIDAndATimeOfItsOwn", func(t *testing.T) {
		t.Parallel()
		url, seen := listen(t, ok)
		endpoints := at(t, url)
		for i := range 2 {
			_, err := endpoints.Deliver(t.Context(), friday(), fridayKey, now.Add(time.Duration(i)*time.Minute))
			require.NoError(t, err)
		}
		first, second := <-seen, <-seen
		require.Equal(t, first.Header.Get("Webhook-Id"), second.Header.Get("Webhook-Id"))
		require.Regexp(t, `^msg_[0-9a-f]{32}$`, first.Header.Get("Webhook-Id"))
		require.Equal(t, first.body, second.body)
		require.Equal(t, "1780099262", second.Header.Get("Webhook-Timestamp"))
		require.NotEqual(t, first.Header.Get("Webhook-Signature"), second.Header.Get("Webhook-Signature"))
		require.True(t, verify(current, second))
	})

	t.Run("SignsWithBothSecretsDuringARotation", func(t *testing.T) {
		t.Parallel()
		url, seen := listen(t, ok)
		_, err := at(t, url, "SECRET_OLD="+previous).Deliver(t.Context(), friday(), fridayKey, now)
		require.NoError(t, err)
		got := <-seen
		require.Len(t, strings.Fields(got.Header.Get("Webhook-Signature")), 2)
		require.True(t, verify(current, got))
		require.True(t, verify(previous, got))
		require.False(t, verify("whsec_c29tZWJvZHkgZWxzZSdzIHNlY3JldCwgMzIgYnl0ZXM=", got))
		got.body += " "
		require.False(t, verify(current, got), "of another body")
	})

	t.Run("SignsAsTheSpecificationsExample", func(t *testing.T) {
		t.Parallel()
		require.True(t, verify("whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw", received{
			&http.Request{Header: http.Header{
				"Webhook-Id":        {"msg_p5jXN8AQM9LWM0D4loKWxJek"},
				"Webhook-Timestamp": {"1614265330"},
				"Webhook-Signature": {"v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="},
			}}, `{"test": 2432232314}`}), "the check that these tests make")
	})

	t.Run("HandsTheTraceOn", func(t *testing.T) {
		t.Parallel()
		url, seen := listen(t, ok)
		span := trace.NewSpanContext(trace.SpanContextConfig{TraceID: trace.TraceID{1}, SpanID: trace.SpanID{2}, TraceFlags: trace.FlagsSampled})
		_, err := at(t, url).Deliver(trace.ContextWithSpanContext(t.Context(), span), friday(), fridayKey, now)
		require.NoError(t, err)
		require.Equal(t, "00-01000000000000000000000000000000-0200000000000000-01", (<-seen).Header.Get("Traceparent"))
	})

	t.Run("EndsWithItsContext", func(t *testing.T) {
		t.Parallel()
		url, seen := listen(t, func(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() })
		ctx, cancel := context.WithCancel(t.Context())
		go func() {
			<-seen
			cancel()
		}()
		_, err := at(t, url).Deliver(ctx, friday(), fridayKey, now)
		require.ErrorIs(t, err, context.Canceled)
		require.EqualError(t, err, `deliver to "app": context canceled`)
	})
}

// What could never be delivered is told before anything is sent.
func TestCheck(t *testing.T) {
	t.Parallel()
	url, seen := listen(t, ok)
	endpoints := at(t, url)
	for _, path := range []string{"", "jobs", "//evil.example/", "/a//b", "/../admin", "/a/..", "/.env", "/a?token=canary", "/a#b",
		"/%2e%2e/", "/a b", "/a\r\nHost: evil", `/\evil`, "@evil.example/", "/ñ", "/" + strings.Repeat("a", 500)} {
		request := delivery.Request{Endpoint: "app", Path: path}
		failed := requireFailed(t, endpoints.Check(request))
		require.True(t, failed.Final, path)
		require.Contains(t, failed.Error(), `deliver to "app": path: write it as /jobs/friday: `)
		requireNoSecret(t, failed.Error())
		_, err := endpoints.Deliver(t.Context(), request, fridayKey, now)
		require.EqualError(t, err, failed.Error())
	}
	for _, path := range []string{"/", "/jobs", "/jobs/friday/", "/v1.2/job:run/~me@x_-"} {
		require.NoError(t, endpoints.Check(delivery.Request{Endpoint: "app", Path: path}), path)
	}
	for body, want := range map[any]string{
		strings.Repeat("a", 64<<10): "body: 65538 bytes of JSON, at most 65536 are sent",
		make(chan int):              "body: json: unsupported type: chan int",
	} {
		failed := requireFailed(t, endpoints.Check(delivery.Request{Endpoint: "app", Path: "/", Body: body}))
		require.True(t, failed.Final)
		require.EqualError(t, failed, `deliver to "app" /: `+want)
	}
	require.NoError(t, endpoints.Check(delivery.Request{Endpoint: "app", Path: "/", Body: json.RawMessage(`{"a":1}`)}))
	require.EqualError(t, endpoints.Check(delivery.Request{Endpoint: "apq", Path: "/"}), `unknown endpoint "apq": configured here: app`)
	require.EqualError(t, delivery.Endpoints{}.Check(friday()), `unknown endpoint "app": configured here: none`)
	require.Empty(t, seen)
}

func TestIdempotencyKey(t *testing.T) {
	t.Parallel()
	for want, parts := range map[string][2]string{
		"friday/2026-W22":                  {"friday", "2026-W22"},
		"anniversary/2026-05-30T00:00:00Z": {"anniversary", "2026-05-30T00:00:00Z"},
		"a%2Fb/c%2Fd":                      {"a/b", "c/d"},
		"caf%C3%A9/a%20b%0D%0A":            {"café", "a b\r\n"},
	} {
		require.Equal(t, want, delivery.IdempotencyKey(parts[0], parts[1]))
	}
}
