package delivery

import (
	"errors"
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"time"
	"unicode"
)

// An Error is a delivery without success. Its text is fit to be stored and
// shown: it has no secret, no query and no control character.
type Error struct {
	Answer     Answer        // with Status 0 if none came
	Final      bool          // another attempt would end as this one did
	RetryAfter time.Duration // how long the endpoint asks to be left alone; 0 if it does not say, at most 10 minutes

	text  string
	cause error
}

func (e *Error) Error() string { return e.text }
func (e *Error) Unwrap() error { return e.cause }

// judge says what an answer means: 2xx is success. A 4xx is final, because the
// same request stays wrong, except where it says that the time was: 408, 425
// and 429. Whatever else happens may be different at the next attempt.
func (to *endpoint) judge(path string, answer Answer, retryAfter time.Duration, err error) (Answer, error) {
	final := answer.Status/100 == 4 && answer.Status != http.StatusRequestTimeout &&
		answer.Status != http.StatusTooEarly && answer.Status != http.StatusTooManyRequests
	switch {
	case answer.Status/100 == 2 && err == nil:
		return answer, nil
	case answer.Status == 0 || answer.Status/100 == 2: // a success that broke off may be somebody else's
	case answer.Status/100 == 3:
		err = fmt.Errorf("answered %d: redirects are not followed: configure the URL that it leads to", answer.Status)
	default:
		err = answered(answer)
	}
	failed := to.failure(path, err)
	failed.Answer, failed.Final, failed.RetryAfter = answer, final, retryAfter
	return answer, failed
}

func answered(answer Answer) error {
	text := "answered " + strconv.Itoa(answer.Status)
	if status := http.StatusText(answer.Status); status != "" {
		text += " " + status
	}
	if answer.Body != "" {
		text += ": " + answer.Body
	}
	return errors.New(text)
}

// failure is an error that names the endpoint. The text is made here, because
// those of the network quote what came over it.
func (to *endpoint) failure(path string, err error) *Error {
	text := fmt.Sprintf("deliver to %q%s: ", to.name, strings.TrimSuffix(" "+path, " "))
	return &Error{Answer: Answer{Endpoint: to.name}, text: text + to.excerpt(err.Error()), cause: err}
}

// final is a failure of the request itself: nothing was sent.
func (to *endpoint) final(path string, err error) *Error {
	failed := to.failure(path, err)
	failed.Final = true
	return failed
}

// maxRetryAfter is the longest pause that any retry makes: a header that asks
// for a year costs no more than that.
const maxRetryAfter = 10 * time.Minute

// retryAfter reads the header that comes with 429 and 503, as seconds or as a
// date (RFC 9110, section 10.2.3).
func retryAfter(response *http.Response, now time.Time) time.Duration {
	if response.StatusCode != http.StatusTooManyRequests && response.StatusCode != http.StatusServiceUnavailable {
		return 0
	}
	header := response.Header.Get("Retry-After")
	if seconds, err := strconv.ParseUint(header, 10, 31); err == nil || errors.Is(err, strconv.ErrRange) { // the largest value then
		return min(time.Duration(seconds)*time.Second, maxRetryAfter) // 31 bits of seconds do not overflow
	}
	at, err := http.ParseTime(header)
	if err != nil {
		return 0
	}
	return max(0, min(at.Sub(now), maxRetryAfter))
}

// maxExcerpt is enough for a reason, and little enough for a line of a log.
const maxExcerpt = 500

// excerpt makes of a text what can be stored as jsonb, fits a line and has none
// of the endpoint's secrets: a receiver that is being debugged may echo them.
func (to *endpoint) excerpt(text string) string {
	for _, secret := range to.secrets {
		text = strings.ReplaceAll(text, secret.encoded, "[redacted]")
	}
	text = strings.Map(func(r rune) rune {
		if unicode.IsPrint(r) { // which U+FFFD is, that stands for what is not UTF-8
			return r
		}
		return ' '
	}, text)
	if len(text) > maxExcerpt {
		text = strings.ToValidUTF8(text[:maxExcerpt], "") + "…"
	}
	return strings.TrimSpace(text)
}
