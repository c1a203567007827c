package delivery

import "net/netip"

// Refuse says why an endpoint may not be reached at an address: the table of
// addresses would otherwise dial those that may.
func (e Endpoints) Refuse(name, address string) error {
	return e.byName[name].refuse(netip.MustParseAddr(address))
}
