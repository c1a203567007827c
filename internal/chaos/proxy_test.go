package chaos

import (
	"bytes"
	"errors"
	"net"
	"sync"
	"time"
)

// proxy stands between one replica and Postgres. Its settings take effect on
// connections that are open.
type proxy struct {
	listener net.Listener
	server   string

	mu      sync.Mutex
	changed *sync.Cond
	links   map[*link]bool
	hole    bool          // nothing passes, nothing is refused
	latency time.Duration // of every chunk, either way
	cuts    int           // so many of the coming commits of slots are cut
	after   bool          // ... when the server has answered, instead of before it hears
	dark    []*link       // whose client lost its power
}

// link is one connection: its two halves.
type link struct {
	client, server *net.TCPConn

	works bool // it is of the pool that slots run in
	mute  bool // the client is not to hear the answer to its COMMIT
	dark  bool // the server is not to hear that the client is gone
}

func newProxy(server string) (*proxy, error) {
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, err
	}
	p := &proxy{listener: listener, server: server, links: make(map[*link]bool)}
	p.changed = sync.NewCond(&p.mu)
	go p.accept()
	return p, nil
}

func (p *proxy) accept() {
	for {
		client, err := p.listener.Accept()
		if err != nil {
			return // closed
		}
		server, err := net.Dial("tcp", p.server)
		if err != nil {
			_ = client.Close()
			continue
		}
		l := &link{client: client.(*net.TCPConn), server: server.(*net.TCPConn)}
		p.set(func() { p.links[l] = true })
		go p.pump(l, l.client, l.server, true)
		go p.pump(l, l.server, l.client, false)
	}
}

// set changes settings and wakes what waits for them.
func (p *proxy) set(change func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	change()
	p.changed.Broadcast()
}

func (p *proxy) pump(l *link, from, to net.Conn, upstream bool) {
	defer p.drop(l, upstream)
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if err != nil || !p.admit(l, buffer[:n], upstream) {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil && (upstream || !p.isDark(l)) {
			return
		}
	}
}

var (
	commit  = []byte("commit\x00")  // how pgx ends a transaction in the simple protocol
	session = []byte(" worker\x00") // the end of the application's name, in the first message of a session
)

// admit waits until a chunk may pass, and says false if the connection is to
// be cut instead.
func (p *proxy) admit(l *link, chunk []byte, upstream bool) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.hole && p.links[l] {
		p.changed.Wait()
	}
	if latency := p.latency; latency > 0 {
		p.mu.Unlock()
		<-time.After(latency)
		p.mu.Lock()
	}
	if !upstream {
		return !l.mute
	}
	l.works = l.works || bytes.Contains(chunk, session)
	if p.cuts == 0 || !l.works || !bytes.Contains(chunk, commit) {
		return true
	}
	p.cuts--
	l.mute = p.after
	return p.after
}

// drop ends a link of which one side has ended. A server is not told of a
// client that lost its power.
func (p *proxy) drop(l *link, upstream bool) {
	p.set(func() { delete(p.links, l) })
	_ = l.client.Close()
	if !upstream || !p.isDark(l) {
		_ = l.server.Close()
	}
}

// darken makes the clients of all links such that have lost their power: the
// server believes in them until it finds out by itself.
func (p *proxy) darken() {
	p.set(func() {
		for l := range p.links {
			l.dark = true
			p.dark = append(p.dark, l)
		}
	})
}

func (p *proxy) isDark(l *link) (dark bool) {
	p.set(func() { dark = l.dark })
	return dark
}

// reset ends every connection with a TCP reset on both sides.
func (p *proxy) reset() {
	p.set(func() {
		for l := range p.links {
			_ = errors.Join(l.client.SetLinger(0), l.server.SetLinger(0), l.client.Close(), l.server.Close())
			delete(p.links, l)
		}
	})
}

func (p *proxy) heal() {
	p.set(func() { p.hole, p.latency, p.cuts = false, 0, 0 })
}

func (p *proxy) close() {
	_ = p.listener.Close()
	p.heal()
	p.reset()
	for _, l := range p.dark {
		_ = l.server.Close()
	}
}
