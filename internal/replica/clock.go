package replica

import (
	"log/slog"
	"sync/atomic"
	"time"

	"github.com/ranura/ranura/internal/periodic"
)

// MaxSkew is how far a replica's clock may be off before it says so. What is due
// is decided by the database's clock; but a replica that is off leads with its
// timers at the wrong time, River stamps retries with its clock, and its log lies.
const MaxSkew = 5 * time.Second

// clock remembers whether this process's clock was off, so that the log has one
// line when it goes wrong and one when it is right again.
type clock struct {
	off  bool
	skew atomic.Int64 // nanoseconds, for the metrics
}

// compare holds the database's clock against ours, which was read before and
// after.
func (c *clock) compare(log *slog.Logger, before, database, after time.Time) {
	skew := periodic.Skew(before, database, after)
	c.skew.Store(int64(skew))
	switch off := skew.Abs() > MaxSkew; {
	case off && !c.off:
		log.Warn("this replica's clock is off: set it right; slots go by the database's clock", "skew", skew)
	case !off && c.off:
		log.Info("this replica's clock is right again", "skew", skew)
	}
	c.off = skew.Abs() > MaxSkew
}
