package delivery_test

import (
	"context"
	"fmt"
	"net"
	"net/http/httptest"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestAddresses(t *testing.T) {
	t.Parallel()
	public, open, local := at(t, "https://api.example.com"), at(t, "https://api.example.com", "ALLOW_PRIVATE=true"), at(t, "http://localhost:8000")
	for kind, addresses := range map[string]string{
		"public":   "8.8.8.8 172.32.0.1 100.128.0.1 192.169.0.1 2606:4700::1111 ::ffff:8.8.8.8 64:ff9b::8.8.8.8",
		"private":  "10.0.0.1 172.16.0.1 172.31.255.255 192.168.1.1 100.64.0.1 100.127.255.255 fc00::1 fd12::1 ::ffff:10.0.0.1 64:ff9b::10.0.0.1",
		"loopback": "127.0.0.1 127.255.0.1 ::1 ::ffff:127.0.0.1 64:ff9b::127.0.0.1",
		"never": "0.0.0.0 0.1.2.3 169.254.169.254 169.254.170.2 224.0.0.1 239.1.1.1 240.0.0.1 255.255.255.255 192.0.0.192 198.18.0.1 192.0.2.1 " +
			":: fe80::1 fe80::1%eth0 fec0::1 ff02::1 ::ffff:169.254.169.254 64:ff9b::169.254.169.254 ::127.0.0.1 fd00:ec2::254 " +
			"2002:7f00:1:: 2001::1 2001:db8::1 64:ff9b:1::1 100::1 4000::1 f000::1",
	} {
		for address := range strings.FieldsSeq(addresses) {
			require.Equal(t, kind == "public", public.Refuse("app", address) == nil, address)
			require.Equal(t, kind == "public" || kind == "private", open.Refuse("app", address) == nil, address)
			require.Equal(t, kind == "loopback", local.Refuse("app", address) == nil, address)
		}
	}
}

// resolve lets a DNS server of the test answer the process until the test ends:
// something else each time that it is asked for an IPv4 address.
func resolve(t *testing.T, answers ...[4]byte) {
	t.Helper()
	conn, err := net.ListenUDP("udp", &net.UDPAddr{IP: net.IPv4(127, 0, 0, 1)})
	require.NoError(t, err)
	t.Cleanup(func() { _ = conn.Close() })
	go func() {
		var asked int
		for packet := make([]byte, 1500); ; {
			n, from, err := conn.ReadFromUDP(packet)
			if err != nil {
				return
			}
			end := 12 + strings.IndexByte(string(packet[12:n]), 0) + 5 // the name, its type and its class
			reply := append([]byte{packet[0], packet[1], 0x81, 0x80, 0, 1, 0, 0, 0, 0, 0, 0}, packet[12:end]...)
			if packet[end-3] == 1 { // A
				reply[7] = 1
				reply = append(reply, 0xc0, 12, 0, 1, 0, 1, 0, 0, 0, 0, 0, 4)
				address := answers[asked%len(answers)]
				reply = append(reply, address[:]...)
				asked++
			}
			_, _ = conn.WriteToUDP(reply, from)
		}
	}()
	before := net.DefaultResolver
	t.Cleanup(func() { net.DefaultResolver = before })
	net.DefaultResolver = &net.Resolver{PreferGo: true, Dial: func(ctx context.Context, _, _ string) (net.Conn, error) {
		var dialer net.Dialer
		return dialer.DialContext(ctx, "udp", conn.LocalAddr().String())
	}}
}

// The address counts that is dialled, whatever the name resolved to before, and
// the environment, which names a proxy in many containers, has no say. net/http
// reads the proxy once: so this is the first test that calls anybody.
func TestRebindingResolver(t *testing.T) {
	proxy, seen := listen(t, ok)
	t.Setenv("HTTPS_PROXY", proxy)
	resolve(t, [4]byte{169, 254, 169, 254}, [4]byte{10, 0, 0, 1}, [4]byte{127, 0, 0, 1})
	var reached atomic.Int32
	server := httptest.NewUnstartedServer(nil)
	server.Listener = counted{server.Listener, &reached}
	server.StartTLS()
	defer server.Close()
	_, port, err := net.SplitHostPort(server.Listener.Addr().String())
	require.NoError(t, err)

	endpoints := at(t, fmt.Sprintf("https://rebinding.test.:%s", port))
	for _, want := range []string{
		"rebinding.test. is at 169.254.169.254, which is no address of a receiver (loopback, link-local, multicast or reserved)",
		"rebinding.test. is at the private address 10.0.0.1: if it is meant, set ENDPOINT_APP_ALLOW_PRIVATE=true",
		"rebinding.test. is at 127.0.0.1, which is no address of a receiver (loopback, link-local, multicast or reserved)",
	} {
		_, err := endpoints.Deliver(t.Context(), friday(), fridayKey, now)
		failed := requireFailed(t, err)
		require.ErrorContains(t, failed, want)
		require.False(t, failed.Final)
	}
	require.Zero(t, reached.Load())
	require.Empty(t, seen)
}

type counted struct {
	net.Listener

	reached *atomic.Int32
}

func (c counted) Accept() (net.Conn, error) {
	conn, err := c.Listener.Accept()
	if err == nil {
		c.reached.Add(1)
	}
	return conn, err
}

// A certificate that nobody vouches for ends the call before a byte of it is sent.
func TestUnknownCertificate(t *testing.T) {
	t.Parallel()
	server := httptest.NewTLSServer(nil)
	t.Cleanup(server.Close)
	_, err := at(t, server.URL).Deliver(t.Context(), friday(), fridayKey, now)
	require.ErrorContains(t, err, "certificate signed by unknown authority")
	require.False(t, requireFailed(t, err).Final)
}
