package door

import (
	"crypto/sha256"
	"errors"
	"fmt"
	"net/http"
	"net/netip"
	"regexp"
	"strings"
)

// Settings are the environment's. All empty, the door has no lock.
type Settings struct {
	ViewerPassword   Password `env:"WEB_VIEWER_PASSWORD"`   // of "viewer"
	OperatorPassword Password `env:"WEB_OPERATOR_PASSWORD"` // of "operator"

	// A proxy that asks people who they are: the header that names them, where
	// it calls from, and who of them may change anything.
	ProxyHeader    string   `env:"WEB_PROXY_HEADER"`
	ProxyAddresses []string `env:"WEB_PROXY_ADDRESSES"` // such as 10.0.0.0/8
	ProxyOperators []string `env:"WEB_PROXY_OPERATORS"`
}

// Password is a text that no log, error or page may show.
type Password string

// String implements [fmt.Stringer].
func (Password) String() string { return "[redacted]" }

// GoString implements [fmt.GoStringer].
func (Password) GoString() string { return "[redacted]" }

// minPassword is for passwords that nobody has to type often.
const minPassword = 12

// New makes a door, or reports everything that is wrong with its settings at
// once, never a password.
func New(settings Settings) (*Door, error) {
	door := &Door{}
	var mistakes []error
	for _, known := range []struct {
		variable string
		password Password
		visitor  Visitor
	}{
		{"WEB_VIEWER_PASSWORD", settings.ViewerPassword, Visitor{viewerName, Viewer}},
		{"WEB_OPERATOR_PASSWORD", settings.OperatorPassword, Visitor{operatorName, Operator}},
	} {
		switch {
		case known.password == "":
			continue
		case len(known.password) < minPassword:
			mistakes = append(mistakes, fmt.Errorf("%s is shorter than %d characters: take one from openssl rand -base64 18", known.variable, minPassword))
		case strings.TrimSpace(string(known.password)) != string(known.password):
			mistakes = append(mistakes, fmt.Errorf("%s begins or ends with white space: take it out", known.variable))
		}
		door.credentials = append(door.credentials, credential{known.visitor, sha256.Sum256([]byte(known.password))})
	}
	if settings.ViewerPassword != "" && settings.ViewerPassword == settings.OperatorPassword {
		mistakes = append(mistakes, errors.New("WEB_VIEWER_PASSWORD and WEB_OPERATOR_PASSWORD are the same: whoever reads could change"))
	}
	if err := door.proxy.set(settings); err != nil {
		mistakes = append(mistakes, err)
	}
	if err := errors.Join(mistakes...); err != nil {
		return nil, err
	}
	return door, nil
}

var headerPattern = regexp.MustCompile(`^[A-Za-z][A-Za-z0-9-]*$`)

func (p *proxy) set(settings Settings) error {
	if settings.ProxyHeader == "" {
		if len(settings.ProxyAddresses)+len(settings.ProxyOperators) > 0 {
			return errors.New("WEB_PROXY_HEADER is not set, and so no proxy is trusted: set it as well, or leave WEB_PROXY_ADDRESSES and WEB_PROXY_OPERATORS out")
		}
		return nil
	}
	p.header = http.CanonicalHeaderKey(settings.ProxyHeader)
	for _, name := range settings.ProxyOperators {
		p.operators = append(p.operators, strings.TrimSpace(name))
	}
	var mistakes []error
	if !headerPattern.MatchString(settings.ProxyHeader) || p.header == "Authorization" || p.header == "Host" {
		mistakes = append(mistakes, errors.New("WEB_PROXY_HEADER is no header that names somebody: write it as X-Forwarded-User"))
	}
	if len(settings.ProxyAddresses) == 0 {
		mistakes = append(mistakes, errors.New("WEB_PROXY_ADDRESSES is not set: anybody can send a header, so say where the proxy calls from, such as 10.0.0.7/32"))
	}
	for _, text := range settings.ProxyAddresses {
		prefix, err := netip.ParsePrefix(strings.TrimSpace(text))
		if err != nil || prefix.Masked() != prefix || prefix.Bits() == 0 || prefix.Addr().Is4In6() {
			mistakes = append(mistakes, fmt.Errorf("WEB_PROXY_ADDRESSES has %q: write networks as 10.0.0.7/32 or fd00::/64, and not all there are", text))
		}
		p.from = append(p.from, prefix)
	}
	return errors.Join(mistakes...)
}
