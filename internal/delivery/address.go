package delivery

import (
	"fmt"
	"net"
	"net/netip"
	"strings"
	"syscall"
)

// dialer checks an address after its name was resolved and before anything is
// sent: what a resolver said a moment ago, when the configuration was read, is
// no promise.
func (to *endpoint) dialer() *net.Dialer {
	return &net.Dialer{
		Control: func(_, address string, _ syscall.RawConn) error {
			dialled, err := netip.ParseAddrPort(address)
			if err != nil {
				return fmt.Errorf("address of %s: %w", to.host, err)
			}
			return to.refuse(dialled.Addr())
		},
	}
}

// refuse says why an endpoint may not be reached at an address, or nil.
func (to *endpoint) refuse(address netip.Addr) error {
	address = embedded(address.WithZone("").Unmap())
	switch {
	case isLoopback(to.host):
		if !address.IsLoopback() {
			return fmt.Errorf("%s is at %s, which is not a loopback address", to.host, address)
		}
	case within(never, address):
		return fmt.Errorf("%s is at %s, which is no address of a receiver (loopback, link-local, multicast or reserved)", to.host, address)
	case within(private, address) && !to.allowPrivate:
		return fmt.Errorf("%s is at the private address %s: if it is meant, set %s_ALLOW_PRIVATE=true", to.host, address, to.variables)
	}
	return nil
}

// isLoopback is about a host as configuration has it.
func isLoopback(host string) bool {
	address, err := netip.ParseAddr(host)
	return strings.EqualFold(host, "localhost") || err == nil && address.IsLoopback()
}

// embedded returns the IPv4 address that NAT64 makes of an IPv6 one (RFC 6052),
// or else the address itself.
func embedded(address netip.Addr) netip.Addr {
	if !nat64.Contains(address) {
		return address
	}
	bytes := address.As16()
	return netip.AddrFrom4([4]byte(bytes[12:]))
}

func within(prefixes []netip.Prefix, address netip.Addr) bool {
	for _, prefix := range prefixes {
		if prefix.Contains(address) {
			return true
		}
	}
	return false
}

// The special addresses of the IANA registries for IPv4 and IPv6 (RFC 6890).
var (
	nat64 = netip.MustParsePrefix("64:ff9b::/96")

	private = prefixes(
		"10.0.0.0/8", "172.16.0.0/12", "192.168.0.0/16", // RFC 1918
		"100.64.0.0/10", // shared by carriers and overlay networks (RFC 6598)
		"fc00::/7",      // RFC 4193
	)

	// never are those that no receiver has, not even a private one: they reach
	// this machine, its neighbours, or the metadata of a cloud.
	never = prefixes(
		"0.0.0.0/8", "127.0.0.0/8", "169.254.0.0/16", "192.0.0.0/24", "192.0.2.0/24", "192.88.99.0/24",
		"198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4",
		"::/3",                                                                 // unspecified, loopback, and IPv4 in its old disguises
		"2001::/23",                                                            // Teredo and other tunnels
		"2001:db8::/32",                                                        // documentation
		"2002::/16",                                                            // 6to4: IPv4 in disguise
		"4000::/2", "8000::/2", "c000::/3", "e000::/4", "f000::/5", "f800::/6", // not assigned
		"fd00:ec2::/32", // the metadata of AWS
		"fe00::/7",      // link-local, site-local, multicast
	)
)

func prefixes(texts ...string) []netip.Prefix {
	parsed := make([]netip.Prefix, 0, len(texts))
	for _, text := range texts {
		parsed = append(parsed, netip.MustParsePrefix(text))
	}
	return parsed
}
