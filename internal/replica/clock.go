package replica

import (
	"log/slog"
	"sync/atomic"
	"time"
)

// maxSkew is how far a replica's clock may be off before it says so. What is due
// is decided by the database's clock; but a replica that is off leads with its
// timers at the wrong time, River stamps retries with its clock, and its log lies.
const maxSkew = 5 * time.Second

// clock remembers whether this process's clock was off, so that the log has one
// line when it goes wrong and one when it is right again.
type clock struct {
	off  bool
	skew atomic.Int64 // nanoseconds, for the metrics
}

// compare holds the database's clock against ours, which was read before and
// after. The answer may have been under way for any part of that time.
func (c *clock) compare(log *slog.Logger, before, database, after time.Time) {
	var skew time.Duration // 0 within what the round trip leaves open
	switch {
	case database.Before(before):
		skew = before.Sub(database)
	case database.After(after):
		skew = after.Sub(database)
	}
	c.skew.Store(int64(skew))
	switch off := skew.Abs() > maxSkew; {
	case off && !c.off:
		log.Warn("this replica's clock is off: set it right; slots go by the database's clock", "skew", skew)
	case !off && c.off:
		log.Info("this replica's clock is right again", "skew", skew)
	}
	c.off = skew.Abs() > maxSkew
}
