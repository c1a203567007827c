package demo

import (
	"cmp"
	"slices"
	"time"

	"github.com/ranura/ranura/internal/community"
)

type total struct {
	memberID int64
	points   int
	reached  time.Time
}

// weekTotals adds up the week that ends at slot, by member.
func weekTotals(activity []scored, slot time.Time) map[int64]total {
	totals := make(map[int64]total)
	for _, a := range activity {
		if a.at.Before(slot.AddDate(0, 0, -7)) || !a.at.Before(slot) {
			continue
		}
		sum := totals[a.memberID]
		sum.memberID = a.memberID
		sum.points += a.points
		if a.at.After(sum.reached) {
			sum.reached = a.at
		}
		totals[a.memberID] = sum
	}
	return totals
}

// places says who must win, by the rule in words: most points, then who
// reached them first, then the smaller id.
func (t *town) places(slot time.Time) []community.Place {
	var ranking []total
	for _, sum := range weekTotals(t.activity, slot) {
		ranking = append(ranking, sum)
	}
	slices.SortFunc(ranking, func(a, b total) int {
		return cmp.Or(cmp.Compare(b.points, a.points), a.reached.Compare(b.reached), cmp.Compare(a.memberID, b.memberID))
	})
	var places []community.Place
	for i, sum := range ranking[:min(3, len(ranking))] {
		places = append(places, community.Place{
			Place: i + 1, MemberID: sum.memberID, Handle: t.members[sum.memberID-1].handle, Points: int64(sum.points),
		})
	}
	return places
}
