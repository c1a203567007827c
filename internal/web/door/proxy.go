package door

import (
	"net/http"
	"net/netip"
	"slices"
	"strings"
)

// proxy is one in front of the pages that asks people who they are.
type proxy struct {
	header    string         // that names them; without one there is no proxy
	from      []netip.Prefix // where it calls from
	operators []string       // the names that may change; all others read
}

// visitor is who the proxy says it is. The header counts from the proxy's own
// address only, and once: anybody can send one, and a proxy that adds its own
// behind it has been fooled.
func (p *proxy) visitor(r *http.Request) (Visitor, bool) {
	names := r.Header.Values(p.header)
	if p.header == "" || len(names) != 1 || strings.TrimSpace(names[0]) == "" || !p.trusts(peer(r)) {
		return Visitor{}, false
	}
	visitor := Visitor{names[0], Viewer}
	if slices.Contains(p.operators, visitor.Name) {
		visitor.Role = Operator
	}
	return visitor, true
}

func (p *proxy) trusts(address netip.Addr) bool {
	return slices.ContainsFunc(p.from, func(prefix netip.Prefix) bool { return prefix.Contains(address) })
}
