// Package door decides who may use the pages: nobody, a viewer, who reads, or an
// operator, who changes. It asks for a name and a password, or trusts the header
// of a proxy that has asked; and it refuses what another site sends through the
// visitor's browser. What the pages do is not its business.
package door

import (
	"context"
	"net"
	"net/http"
	"net/netip"
	"strings"
)

// A Role is what somebody may do.
type Role int

// The roles, each with the rights of the one before.
const (
	Nobody   Role = iota
	Viewer        // may read
	Operator      // may change
)

// A Visitor is who sends a request.
type Visitor struct {
	Name string
	Role Role
}

type visitorKey struct{}

// From returns the visitor that the door has let in with a request of this
// context, or nobody.
func From(ctx context.Context) Visitor {
	visitor, _ := ctx.Value(visitorKey{}).(Visitor)
	return visitor
}

// Door is who may come in. The zero value has no lock: whoever reaches the pages
// is the operator, so they must be reachable from this machine alone, see Open.
// It may serve any number of requests at once.
type Door struct {
	credentials []credential
	proxy       proxy
	limits      limiter
}

// Open reports whether the door has no lock.
func (d *Door) Open() bool { return len(d.credentials) == 0 && d.proxy.header == "" }

// Handler lets viewers read (GET, HEAD, OPTIONS) and operators do everything.
// Whoever sends no name and password, or wrong ones, is answered 401; who is too
// quick with wrong ones, 429; who may not do this, 403. So is every change that
// comes from another site, and, without a lock, every request under a name that
// is not this machine's: a site whose name is made to point at it would
// otherwise come in through the browser.
func (d *Door) Handler(next http.Handler) http.Handler {
	next = http.NewCrossOriginProtection().Handler(next)
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		visitor, refusal := d.visitor(r)
		switch {
		case refusal != nil:
			refusal(w)
		case visitor.Role < needed(r.Method):
			http.Error(w, "only an operator may change anything", http.StatusForbidden)
		default:
			next.ServeHTTP(w, r.WithContext(context.WithValue(r.Context(), visitorKey{}, visitor)))
		}
	})
}

// needed is what a method asks for. The pages change nothing in an answer to a
// method that is safe (RFC 9110, section 9.2.1).
func needed(method string) Role {
	switch method {
	case http.MethodGet, http.MethodHead, http.MethodOptions:
		return Viewer
	}
	return Operator
}

// visitor says who sends a request, or how to refuse it.
func (d *Door) visitor(r *http.Request) (Visitor, func(http.ResponseWriter)) {
	if d.Open() {
		if !isLocal(r.Host) {
			return Visitor{}, forbid("open this page under its loopback address")
		}
		return Visitor{"local", Operator}, nil
	}
	if visitor, ok := d.proxy.visitor(r); ok {
		return visitor, nil
	}
	name, password, given := r.BasicAuth()
	if !given || len(d.credentials) == 0 {
		return Visitor{}, challenge
	}
	var visitor Visitor
	if !d.limits.try(peer(r), func() (right bool) {
		visitor, right = d.login(name, password)
		return right
	}) {
		return Visitor{}, slowDown
	}
	if visitor.Role == Nobody {
		return Visitor{}, challenge
	}
	return visitor, nil
}

func forbid(text string) func(http.ResponseWriter) {
	return func(w http.ResponseWriter) { http.Error(w, text, http.StatusForbidden) }
}

func challenge(w http.ResponseWriter) {
	w.Header().Set("WWW-Authenticate", `Basic realm="Ranura", charset="UTF-8"`)
	http.Error(w, "name and password, please", http.StatusUnauthorized)
}

// isLocal is about the host that a request names.
func isLocal(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	ip := net.ParseIP(strings.Trim(host, "[]"))
	return host == "localhost" || ip != nil && ip.IsLoopback()
}

// peer is the address at the other end of the connection, which nobody can
// choose freely; it is invalid if there is none.
func peer(r *http.Request) netip.Addr {
	address, _ := netip.ParseAddrPort(r.RemoteAddr)
	return address.Addr().Unmap().WithZone("")
}
