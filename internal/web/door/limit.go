package door

import (
	"net/http"
	"net/netip"
	"sync"

	"golang.org/x/time/rate"
)

// Wrong passwords, by the address that they come from: ten at once, then one
// every six seconds, which is 14,400 a day.
const (
	wrongBurst  = 10
	wrongPerSec = rate.Limit(1.0 / 6)
)

// maxRemembered bounds what is kept of addresses. Beyond it the memory starts
// anew, which gives everybody their ten again.
const maxRemembered = 10_000

// limiter counts wrong passwords. Its zero value is ready.
type limiter struct {
	mu   sync.Mutex
	from map[netip.Addr]*rate.Limiter
}

// try lets an address guess, unless it has been wrong too often: then it reports
// false, and does not tell whether the guess would have been right. Guesses come
// one after the other, so that many at once are counted too.
func (l *limiter) try(from netip.Addr, right func() bool) bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	wrong := l.from[network(from)]
	if wrong != nil && wrong.Tokens() < 1 {
		return false
	}
	if right() {
		return true
	}
	if l.from == nil || len(l.from) >= maxRemembered {
		l.from = make(map[netip.Addr]*rate.Limiter)
	}
	if wrong == nil {
		wrong = rate.NewLimiter(wrongPerSec, wrongBurst)
	}
	l.from[network(from)] = wrong
	wrong.Allow()
	return true
}

// network is what one person has of IPv6 addresses at least: 64 bits of them.
func network(address netip.Addr) netip.Addr {
	if !address.Is6() {
		return address
	}
	prefix, _ := address.Prefix(64) // which an IPv6 address always has
	return prefix.Addr()
}

func slowDown(w http.ResponseWriter) {
	w.Header().Set("Retry-After", "6")
	http.Error(w, "too many wrong passwords: wait a little", http.StatusTooManyRequests)
}
