package delivery_test

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/delivery"
)

func requireFailed(t *testing.T, err error) *delivery.Error {
	t.Helper()
	failed, ok := errors.AsType[*delivery.Error](err)
	require.True(t, ok, err)
	return failed
}

// TestAnswers is one receiver for each thing that receivers do.
func TestAnswers(t *testing.T) {
	t.Parallel()
	status := func(code int, header ...string) http.HandlerFunc {
		return func(w http.ResponseWriter, _ *http.Request) {
			for i := 0; i < len(header); i += 2 {
				w.Header().Set(header[i], header[i+1])
			}
			w.WriteHeader(code)
			fmt.Fprint(w, "because")
		}
	}
	for name, c := range map[string]struct {
		answer http.HandlerFunc
		status int
		final  bool
		after  time.Duration
		text   string
	}{
		"400IsFinal":              {status(400), 400, true, 0, "answered 400 Bad Request: because"},
		"401IsFinal":              {status(401), 401, true, 0, "answered 401 Unauthorized: because"},
		"404IsFinal":              {status(404), 404, true, 0, "answered 404 Not Found: because"},
		"410IsFinal":              {status(410), 410, true, 0, "answered 410 Gone: because"},
		"499HasNoName":            {status(499), 499, true, 0, "answered 499: because"},
		"408Passes":               {status(408), 408, false, 0, "answered 408 Request Timeout: because"},
		"425Passes":               {status(425), 425, false, 0, "answered 425 Too Early: because"},
		"429Passes":               {status(429), 429, false, 0, "answered 429 Too Many Requests: because"},
		"429SaysSeconds":          {status(429, "Retry-After", "30"), 429, false, 30 * time.Second, "answered 429 Too Many Requests: because"},
		"503SaysADate":            {status(503, "Retry-After", "Sat, 30 May 2026 00:01:02 GMT"), 503, false, time.Minute, "answered 503 Service Unavailable: because"},
		"503SaysADateThatIsPast":  {status(503, "Retry-After", "Sat, 30 May 2020 00:01:02 GMT"), 503, false, 0, "answered 503 Service Unavailable: because"},
		"503SaysAYear":            {status(503, "Retry-After", "31536000"), 503, false, 10 * time.Minute, "answered 503 Service Unavailable: because"},
		"429SaysMoreThanFits":     {status(429, "Retry-After", "99999999999999999999"), 429, false, 10 * time.Minute, "answered 429 Too Many Requests: because"},
		"503SaysADateInAYear":     {status(503, "Retry-After", "Sun, 30 May 2027 00:01:02 GMT"), 503, false, 10 * time.Minute, "answered 503 Service Unavailable: because"},
		"503SaysNonsense":         {status(503, "Retry-After", "-1e9"), 503, false, 0, "answered 503 Service Unavailable: because"},
		"500HasNoSayInThat":       {status(500, "Retry-After", "30"), 500, false, 0, "answered 500 Internal Server Error: because"},
		"302ToTheMetadata":        {status(302, "Location", "http://169.254.169.254/?canary"), 302, false, 0, "answered 302: redirects are not followed: configure the URL that it leads to"},
		"307ToAPortOfThisMachine": {status(307, "Location", "http://127.0.0.1:22/"), 307, false, 0, "answered 307: redirects are not followed: configure the URL that it leads to"},
		"Hangs":                   {hang, 0, false, 0, "no whole answer within 1s"},
		"HangsAfterItsHeader":     {hangAfterHeader, 200, false, 0, "no whole answer within 1s"},
		"200ThenReset":            {reset("HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nhalf"), 200, false, 0, "answered 200, then: unexpected EOF"},
		"ResetAtOnce":             {reset(""), 0, false, 0, "EOF"},
		"410ThenReset":            {reset("HTTP/1.1 410 Gone\r\nContent-Length: 100\r\n\r\nmoved"), 410, true, 0, "answered 410 Gone: moved"},
		"SpeaksNoHTTP":            {reset("SSH-2.0-" + current + "\r\n\r\n"), 0, false, 0, `malformed HTTP response "SSH-2.0-whsec_[redacted]"`},
		"ShowsTheSecret":          {text(500, current+" is wrong,\x00 "+strings.TrimPrefix(current, "whsec_")), 500, false, 0, "answered 500 Internal Server Error: whsec_[redacted] is wrong,  [redacted]"},
		"ShowsControlCharacters":  {text(410, "a\x1b[31m\r\nlevel=ERROR\u2028\u202e\xff🎉"), 410, true, 0, "answered 410 Gone: a [31m  level=ERROR  �🎉"},
		"ManyHeaders":             {status(200, "X-Much", strings.Repeat("a", 70<<10)), 0, false, 0, "server response headers exceeded 65536 bytes; aborted"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			url, seen := listen(t, c.answer)
			answer, err := at(t, url, "TIMEOUT=1s").Deliver(t.Context(), friday(), fridayKey, now)
			failed := requireFailed(t, err)
			require.Equal(t, c.status, failed.Answer.Status)
			require.Equal(t, answer, failed.Answer)
			require.Equal(t, c.final, failed.Final)
			require.Equal(t, c.after, failed.RetryAfter)
			require.Contains(t, strings.Replace(failed.Error(), "net/http: ", "", 1), c.text)
			require.True(t, strings.HasPrefix(failed.Error(), `deliver to "app" /jobs/friday: `), failed.Error())
			require.Len(t, seen, 1, "one request, and none to anywhere else")
			requireNoSecret(t, failed.Error()+answer.Body)
			require.NotContains(t, failed.Error(), "\x00")
		})
	}
}

func text(code int, body string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(code)
		_, _ = io.WriteString(w, body)
	}
}

func hang(_ http.ResponseWriter, r *http.Request) { <-r.Context().Done() }

func hangAfterHeader(w http.ResponseWriter, r *http.Request) {
	w.(http.Flusher).Flush()
	<-r.Context().Done()
}

// reset writes raw bytes and breaks the connection off.
func reset(raw string) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) {
		conn, buffered, err := w.(http.Hijacker).Hijack()
		if err != nil {
			return
		}
		_, _ = buffered.WriteString(raw)
		_ = buffered.Flush()
		_ = conn.Close()
	}
}

func TestHugeAnswer(t *testing.T) {
	t.Parallel()
	wrote := make(chan int64, 1)
	url, _ := listen(t, func(w http.ResponseWriter, r *http.Request) {
		n, _ := io.Copy(w, io.LimitReader(endless{}, 1<<30))
		wrote <- n
	})
	answer, err := at(t, url).Deliver(t.Context(), friday(), fridayKey, now)
	require.NoError(t, err)
	require.Equal(t, strings.Repeat("é", 250)+"…", answer.Body)
	require.Less(t, <-wrote, int64(32<<20), "a gigabyte is not read")
}

type endless struct{}

func (endless) Read(into []byte) (int, error) {
	return copy(into, strings.Repeat("é", len(into)/2+1)), nil
}

func TestNobodyListens(t *testing.T) {
	t.Parallel()
	var config net.ListenConfig
	listener, err := config.Listen(context.Background(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	_, err = at(t, "http://"+listener.Addr().String()).Deliver(t.Context(), friday(), fridayKey, now)
	failed := requireFailed(t, err)
	require.False(t, failed.Final)
	require.ErrorContains(t, failed, "connection refused")
}
