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
	cuts    int           // so many of the coming commits are cut
	after   bool          // ... when the server has answered, instead of before it hears
}

// link is one connection: its two halves.
type link struct {
	client, server *net.TCPConn

	mute bool // the client is not to hear the answer to its COMMIT
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
	defer p.drop(l)
	buffer := make([]byte, 1<<16)
	for {
		n, err := from.Read(buffer)
		if err != nil || !p.admit(l, buffer[:n], upstream) {
			return
		}
		if _, err := to.Write(buffer[:n]); err != nil {
			return
		}
	}
}

// commit is how pgx ends a transaction in the simple protocol.
var commit = []byte("commit\x00")

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
	if p.cuts == 0 || !bytes.Contains(chunk, commit) {
		return true
	}
	p.cuts--
	l.mute = p.after
	return p.after
}

func (p *proxy) drop(l *link) {
	p.set(func() { delete(p.links, l) })
	_ = l.client.Close()
	_ = l.server.Close()
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
}
