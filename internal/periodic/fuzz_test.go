package periodic_test

import (
	"testing"
	"time"

	"github.com/ranura/ranura/internal/periodic"
)

// FuzzParse holds what every accepted definition promises: Next is strictly
// later, Latest leads back to it, and the slot's key leads to the slot.
func FuzzParse(f *testing.F) {
	for _, cron := range []string{
		"* * * * *", "*/15 * * * *", "30 2 * * *", "0 0 29 2 *", "0 0 30 2 *", "0 18 * * fri", "0 9 1-7 * 1",
		"@weekly", "@every 90m", "@every 1d", "TZ=", "CRON_TZ=Asia/Kolkata", "1,2,, * * * *", "0 0 * * FRI-MON",
		"5/15 0-23/5 1,15 jan-jun 1-7", "0 0 L * *", "* * * * * *", "\x00", "0 0 * * \xff",
	} {
		f.Add(cron, "America/New_York", "", "", int64(1772953200))
	}
	f.Add("15 2 * * *", "Australia/Lord_Howe", "skip", "second", int64(1791041400))
	f.Add("0 9 * * *", "Pacific/Apia", "run", "both", int64(1325239200))
	f.Add("0 0 * * *", "Local", "jump", "third", int64(-1<<62))
	f.Add("0 0 31 12 *", "Europe/Amsterdam", "", "", int64(1<<62))
	f.Fuzz(func(t *testing.T, cron, zone, gap, fold string, unix int64) {
		s, err := periodic.Parse("fuzz", periodic.Definition{Cron: cron, Zone: zone, Gap: periodic.Gap(gap), Fold: periodic.Fold(fold)})
		if err != nil {
			return
		}
		from := time.Unix(unix, 0)
		next := s.Next(from)
		if next.IsZero() {
			return
		}
		if !next.After(from) {
			t.Fatalf("Next(%s) is %s", from, next)
		}
		if latest, ok := s.Latest(next); !ok || !latest.At.Equal(next) {
			t.Fatalf("Latest(%s) is %v, %v", next, latest, ok)
		}
		if slot, err := s.ForKey(s.At(next).Key); err != nil || !slot.At.Equal(next) {
			t.Fatalf("ForKey of %s is %v, %v", next, slot, err)
		}
	})
}
