package delivery

import (
	"encoding/json"
	"fmt"
	"net/url"
	"regexp"
	"strings"
)

// A Request is what to send and where. It names an endpoint and never a host.
type Request struct {
	Endpoint string // a name that configuration has
	Path     string // what follows the endpoint's URL, such as /jobs/friday; it has no query
	Body     any    // marshalled as JSON, at most 64 kB of it
}

// maxBody bounds what is sent and what is read of the answer. What an endpoint
// sends beyond it is dropped.
const maxBody = 64 << 10

// IdempotencyKey is "name/key", the same for every attempt. What a header
// cannot carry, and a slash inside either part, is percent-encoded.
func IdempotencyKey(name, key string) string { return url.PathEscape(name) + "/" + url.PathEscape(key) }

// Check reports why a request could never be delivered: its endpoint is not
// configured here, or its path or body is not one. It sends nothing.
func (e Endpoints) Check(request Request) error {
	to, err := e.check(request)
	if err != nil {
		return err
	}
	if _, err := encode(request.Body); err != nil {
		return to.final(request.Path, err)
	}
	return nil
}

func (e Endpoints) check(request Request) (*endpoint, error) {
	to, err := e.find(request.Endpoint)
	if err != nil {
		return nil, err
	}
	if !strings.HasPrefix(request.Path, "/") || len(request.Path) > maxPath || !pathPattern.MatchString(request.Path) {
		return nil, to.final("", errPath)
	}
	return to, nil
}

// pathPattern leaves out whatever a server might read as another place: empty
// segments, segments that begin with a dot, escapes, a query.
var pathPattern = regexp.MustCompile(`^(/[A-Za-z0-9_~:@-][A-Za-z0-9._~:@-]*)*/?$`)

const maxPath = 500

var errPath = fmt.Errorf("path: write it as /jobs/friday: letters, digits and ._~:@- between single slashes, "+
	"no segment that begins with a dot, no query, at most %d characters", maxPath)

func encode(body any) ([]byte, error) {
	encoded, err := json.Marshal(body)
	if err != nil {
		return nil, fmt.Errorf("body: %w", err)
	}
	if len(encoded) > maxBody {
		return nil, fmt.Errorf("body: %d bytes of JSON, at most %d are sent", len(encoded), maxBody)
	}
	return encoded, nil
}
