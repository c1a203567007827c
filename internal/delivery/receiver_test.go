package delivery_test

import (
	"crypto/hmac"
	"crypto/sha256"
	"encoding/base64"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/delivery"
)

const (
	current  = "whsec_Y2FuYXJ5LWNhbmFyeS1jYW5hcnktY3VycmVudA=="
	previous = "whsec_Y2FuYXJ5LWNhbmFyeS1jYW5hcnktcHJldmlvdXM="
)

// now is the time of most attempts.
var now = time.Date(2026, time.May, 30, 0, 0, 2, 0, time.UTC)

// received is a request as a receiver saw it.
type received struct {
	*http.Request

	body string
}

// listen starts a receiver and returns its URL and what it receives.
func listen(t *testing.T, answer http.HandlerFunc) (url string, seen chan received) {
	t.Helper()
	seen = make(chan received, 100)
	server := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		body, err := io.ReadAll(r.Body)
		if err != nil {
			return // whoever called has left
		}
		seen <- received{r, string(body)}
		answer(w, r)
	}))
	t.Cleanup(server.Close)
	return server.URL, seen
}

func ok(w http.ResponseWriter, _ *http.Request) { fmt.Fprint(w, `{"done":true}`) }

// at returns the endpoint "app" at a URL, with settings such as "TIMEOUT=1s".
func at(t *testing.T, url string, settings ...string) delivery.Endpoints {
	t.Helper()
	environ := []string{"ENDPOINT_APP_URL=" + url, "ENDPOINT_APP_SECRET=" + current}
	for _, setting := range settings {
		environ = append(environ, "ENDPOINT_APP_"+setting)
	}
	endpoints, err := delivery.ReadEndpoints(environ)
	require.NoError(t, err)
	return endpoints
}

func friday() delivery.Request {
	return delivery.Request{Endpoint: "app", Path: "/jobs/friday", Body: map[string]string{"key": "2026-W22"}}
}

const fridayKey = "friday/2026-W22"

// verify is a receiver's check, written from the specification and with nothing
// that the sender uses.
func verify(secret string, r received) bool {
	key, err := base64.StdEncoding.DecodeString(strings.TrimPrefix(secret, "whsec_"))
	if err != nil {
		return false
	}
	mac := hmac.New(sha256.New, key)
	fmt.Fprintf(mac, "%s.%s.%s", r.Header.Get("webhook-id"), r.Header.Get("webhook-timestamp"), r.body)
	want := "v1," + base64.StdEncoding.EncodeToString(mac.Sum(nil))
	for signature := range strings.FieldsSeq(r.Header.Get("webhook-signature")) {
		if hmac.Equal([]byte(signature), []byte(want)) {
			return true
		}
	}
	return false
}

// requireNoSecret is about whatever is shown.
func requireNoSecret(t *testing.T, shown string) {
	t.Helper()
	for _, secret := range []string{current, previous} {
		require.NotContains(t, shown, strings.TrimPrefix(secret, "whsec_"))
	}
	require.NotContains(t, shown, "canary")
}
