package periodic_test

import (
	"testing"

	"github.com/ranura/ranura/internal/periodic"
)

func BenchmarkNext(b *testing.B) {
	for _, cron := range []string{"* * * * *", "0 18 * * fri", "0 0 29 2 *", "@every 1m"} {
		b.Run(cron, func(b *testing.B) {
			s := parse(b, periodic.Definition{Cron: cron, Zone: "America/New_York"})
			t := at(b, "2026-06-01")
			for b.Loop() {
				s.Next(t)
			}
		})
	}
}

// BenchmarkCatchUp lists two weeks of a minutely schedule.
func BenchmarkCatchUp(b *testing.B) {
	s := parse(b, periodic.Definition{Cron: "* * * * *", Zone: "America/New_York"})
	from, to := at(b, "2026-06-01"), at(b, "2026-06-15")
	for b.Loop() {
		for range s.Slots(from, to) {
		}
	}
}

func BenchmarkLatest(b *testing.B) {
	s := parse(b, periodic.Definition{Cron: "0 18 * * fri", Zone: "America/New_York"})
	t := at(b, "2026-06-03")
	for b.Loop() {
		s.Latest(t)
	}
}
