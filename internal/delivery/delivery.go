// Package delivery calls the endpoints that configuration names: one signed
// POST of JSON at a time, with an idempotency key, and an answer that is safe to
// keep. It knows no jobs and no database; when to try again is its caller's
// business, and the errors here say what the endpoint makes of that.
//
// A delivery happens at least once: when an answer is lost, nobody knows whether
// the endpoint did its work. The same key then brings the same webhook-id and
// the same body, and the endpoint refuses the repeat by them.
//
// A request goes where configuration says and nowhere else: no redirect is
// followed, no proxy is taken from the environment, and the address that a name
// resolves to is checked when it is dialled.
package delivery

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"time"

	"go.opentelemetry.io/otel/propagation"
)

// An Answer is what an endpoint said, made fit to be stored and shown.
type Answer struct {
	Endpoint string `json:"endpoint"`
	Status   int    `json:"status"`         // 0: none came
	Body     string `json:"body,omitempty"` // its beginning, without control characters and our secrets
}

// Deliver sends a request once and returns the endpoint's answer if it is a
// success (2xx); otherwise the error is an [*Error], or ctx's own. now is the
// attempt's time, which the endpoint compares with its clock. Anybody may call
// it at any time.
func (e Endpoints) Deliver(ctx context.Context, request Request, idempotencyKey string, now time.Time) (Answer, error) {
	to, err := e.check(request)
	if err != nil {
		return Answer{}, err
	}
	body, err := encode(request.Body)
	if err != nil {
		return Answer{}, to.final(request.Path, err)
	}
	bounded, cancel := context.WithTimeout(ctx, to.timeout)
	defer cancel()
	post, err := http.NewRequestWithContext(bounded, http.MethodPost, to.url+request.Path, bytes.NewReader(body))
	if err != nil {
		return Answer{}, to.final(request.Path, err)
	}
	if err := to.sign(post.Header, idempotencyKey, now, body); err != nil {
		return Answer{}, to.final(request.Path, err)
	}
	propagation.TraceContext{}.Inject(ctx, propagation.HeaderCarrier(post.Header))

	answer, retryAfter, err := to.post(post, now)
	switch {
	case ctx.Err() != nil && err != nil: // the caller's end, and not the endpoint's fault
		return Answer{}, fmt.Errorf("deliver to %q: %w", to.name, ctx.Err())
	case errors.Is(bounded.Err(), context.DeadlineExceeded) && err != nil:
		err = fmt.Errorf("no whole answer within %s", to.timeout)
	}
	return to.judge(request.Path, answer, retryAfter, err)
}

// post sends a request, with no redirect and no second try of its own.
func (to *endpoint) post(request *http.Request, now time.Time) (Answer, time.Duration, error) {
	answer := Answer{Endpoint: to.name}
	response, err := to.client.Do(request)
	if err != nil {
		if outer, ok := errors.AsType[*url.Error](err); ok {
			err = outer.Err // without the URL
		}
		return answer, 0, err
	}
	defer response.Body.Close()
	answer.Status = response.StatusCode
	body, err := io.ReadAll(io.LimitReader(response.Body, maxBody))
	answer.Body = to.excerpt(string(body))
	if err != nil {
		err = fmt.Errorf("answered %d, then: %w", answer.Status, err)
	}
	return answer, retryAfter(response, now), err
}

// sign sets the headers that say what this is and prove who sent it, by the
// Standard Webhooks specification.
func (to *endpoint) sign(header http.Header, idempotencyKey string, now time.Time, body []byte) error {
	id := webhookID(idempotencyKey)
	signatures := make([]string, 0, len(to.secrets))
	for _, secret := range to.secrets {
		signature, err := secret.webhook.Sign(id, now, body)
		if err != nil {
			return fmt.Errorf("sign: %w", err)
		}
		signatures = append(signatures, signature)
	}
	header.Set("Content-Type", "application/json")
	header.Set("Idempotency-Key", idempotencyKey)
	header.Set("User-Agent", "ranura")
	header.Set("Webhook-Id", id)
	header.Set("Webhook-Signature", strings.Join(signatures, " "))
	header.Set("Webhook-Timestamp", strconv.FormatInt(now.Unix(), 10))
	return nil
}

// webhookID is the same for every attempt. It is a hash, because the signature
// joins id, time and body by dots, and a key may have one.
func webhookID(idempotencyKey string) string {
	sum := sha256.Sum256([]byte(idempotencyKey))
	return "msg_" + hex.EncodeToString(sum[:16])
}
