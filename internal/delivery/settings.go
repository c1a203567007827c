package delivery

import (
	"encoding/base64"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"strconv"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// set reads one setting. Errors say what to write, and follow the variable's name.
func (to *endpoint) set(setting, value string) (err error) {
	switch setting {
	case "ALLOW_PRIVATE":
		to.allowPrivate, err = strconv.ParseBool(value)
		if err != nil {
			err = errors.New("is neither true nor false")
		}
	case "SECRET", "SECRET_OLD":
		err = to.addSecret(value)
	case "TIMEOUT":
		to.timeout, err = time.ParseDuration(value)
		if err != nil || to.timeout < minTimeout || to.timeout > maxTimeout {
			err = fmt.Errorf("is no duration from %s to %s: write it as 10s", minTimeout, maxTimeout)
		}
	case "URL":
		err = to.setURL(value)
	}
	return err
}

// The sizes that the Standard Webhooks specification asks for, in bytes.
const minSecret, maxSecret = 24, 64

func (to *endpoint) addSecret(value string) error {
	encoded, marked := strings.CutPrefix(value, "whsec_")
	raw, err := base64.StdEncoding.Strict().DecodeString(encoded)
	if !marked || err != nil || len(raw) < minSecret || len(raw) > maxSecret {
		return fmt.Errorf("is no secret: it is whsec_ and the base64 of %d to %d random bytes, as from: "+
			`echo "whsec_$(openssl rand -base64 32)"`, minSecret, maxSecret)
	}
	webhook, err := standardwebhooks.NewWebhookRaw(raw)
	if err != nil {
		return errors.New("is no secret")
	}
	// Encoded once more: the decoder overlooks the line break at the end of a file.
	to.secrets = append(to.secrets, secret{webhook, base64.StdEncoding.EncodeToString(raw)})
	return nil
}

// setURL takes what can stand before a path, and nothing that would show a
// secret in a log or send one in the clear.
func (to *endpoint) setURL(value string) error {
	base, err := url.Parse(value)
	switch {
	case err != nil || base.Hostname() == "" || base.Opaque != "":
		return errors.New("is no URL: write it as https://api.example.com/base")
	case base.User != nil || base.RawQuery != "" || base.ForceQuery || base.Fragment != "":
		return errors.New("has a user, a query or a fragment: the signature says who calls, so leave them out")
	case !pathPattern.MatchString(base.EscapedPath()):
		return errors.New("has a path that is none of single slashes and letters, digits and ._~:@-")
	case base.Scheme != "https" && (base.Scheme != "http" || !isLoopback(base.Hostname())):
		return errors.New("is not https: only a loopback host, such as localhost, may be called by http")
	}
	to.host = base.Hostname()
	to.url = strings.TrimSuffix(base.Scheme+"://"+base.Host+base.EscapedPath(), "/")
	return nil
}

// complete reports what is missing, or does not fit together, and makes the client.
func (to *endpoint) complete(given map[string]bool) (mistakes []error) {
	for _, setting := range []string{"_URL", "_SECRET"} {
		if !given[to.variables+setting] {
			mistakes = append(mistakes, fmt.Errorf("%s%s is not set: an endpoint has a URL and a secret", to.variables, setting))
		}
	}
	if address, err := netip.ParseAddr(to.host); err == nil {
		if err := to.refuse(address); err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s_URL: %w", to.variables, err))
		}
	}
	to.client = to.newClient()
	return mistakes
}

// newClient makes a client that goes nowhere but to the endpoint. A connection
// that has been idle may be dead; net/http then tries once more, because the
// request has an Idempotency-Key.
func (to *endpoint) newClient() *http.Client {
	return &http.Client{
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
		Transport: &http.Transport{ // no proxy: the environment must not choose who reads along
			DialContext:            to.dialer().DialContext,
			DisableCompression:     true, // a small answer that unpacks to a large one
			ForceAttemptHTTP2:      true,
			IdleConnTimeout:        30 * time.Second,
			MaxIdleConnsPerHost:    2,
			MaxResponseHeaderBytes: maxBody,
		},
	}
}
