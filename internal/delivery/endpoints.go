package delivery

import (
	"errors"
	"fmt"
	"maps"
	"net/http"
	"regexp"
	"slices"
	"strings"
	"time"

	standardwebhooks "github.com/standard-webhooks/standard-webhooks/libraries/go"
)

// Endpoints are those that configuration names. They do not change, so anybody
// may use them at any time; the zero value has none.
type Endpoints struct {
	byName map[string]*endpoint
}

// endpoint is a receiver, its secrets and the client that talks to it.
type endpoint struct {
	name         string
	variables    string // what its variables begin with
	url          string // without a slash at its end
	host         string
	secrets      []secret // the current one first, then the one that is being replaced
	timeout      time.Duration
	allowPrivate bool
	client       *http.Client
}

// secret is a signing key. encoded is its text behind whsec_, to be found and
// taken out of whatever is shown.
type secret struct {
	webhook *standardwebhooks.Webhook
	encoded string
}

const (
	defaultTimeout = 10 * time.Second

	// maxTimeout leaves a job, which has a minute, time for its claim.
	minTimeout, maxTimeout = time.Second, 30 * time.Second
)

// variablePattern parts a variable into an endpoint's name and the setting.
var variablePattern = regexp.MustCompile(`^(ENDPOINT_([A-Z0-9_]{1,50}))_(ALLOW_PRIVATE|SECRET|SECRET_OLD|TIMEOUT|URL)$`)

// ReadEndpoints reads the endpoints from an environment, as [os.Environ] returns
// it, and reports everything that is wrong with them at once, never a value: it
// may be a secret, or have one in it. A variable that is empty counts as not
// set. An endpoint's name is that of its variables in small letters.
func ReadEndpoints(environ []string) (Endpoints, error) {
	read := Endpoints{byName: make(map[string]*endpoint)}
	given := make(map[string]bool)
	var mistakes []error
	for _, line := range slices.Sorted(slices.Values(environ)) { // SECRET before SECRET_OLD
		variable, value, _ := strings.Cut(line, "=")
		if !strings.HasPrefix(variable, "ENDPOINT_") || value == "" {
			continue
		}
		given[variable] = true
		parts := variablePattern.FindStringSubmatch(variable)
		if parts == nil {
			mistakes = append(mistakes, fmt.Errorf("%s is no setting of an endpoint: write ENDPOINT_<NAME>_URL, _SECRET, _SECRET_OLD, "+
				"_TIMEOUT or _ALLOW_PRIVATE, with a name of at most 50 of A-Z, 0-9 and _", variable))
			continue
		}
		name := strings.ToLower(parts[2])
		to := read.byName[name]
		if to == nil {
			to = &endpoint{name: name, variables: parts[1], timeout: defaultTimeout}
			read.byName[name] = to
		}
		if err := to.set(parts[3], value); err != nil {
			mistakes = append(mistakes, fmt.Errorf("%s %w", variable, err))
		}
	}
	for _, name := range slices.Sorted(maps.Keys(read.byName)) {
		mistakes = append(mistakes, read.byName[name].complete(given)...)
	}
	if len(mistakes) > 0 {
		return Endpoints{}, errors.Join(mistakes...)
	}
	return read, nil
}

func (e Endpoints) find(name string) (*endpoint, error) {
	if to, ok := e.byName[name]; ok {
		return to, nil
	}
	known := strings.Join(slices.Sorted(maps.Keys(e.byName)), ", ")
	if known == "" {
		known = "none"
	}
	return nil, fmt.Errorf("%w %q: configured here: %s", ErrUnknown, name, known)
}

// ErrUnknown means that this process has no endpoint of that name. Another
// replica may, as long as a new configuration is being rolled out.
var ErrUnknown = errors.New("unknown endpoint")
