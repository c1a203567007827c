package periodic

import (
	"slices"
	"time"

	"github.com/ranura/ranura/internal/claim"
)

// skip is a range of slots that are never enqueued, and why.
type skip struct {
	outcome     claim.Outcome
	first, last time.Time
	slots       int64
}

// plan divides missed slots, in order, into those to run and those to skip. It
// is the whole of the policy, and pure. Slots that are less than OnTime late
// are always run: that is how long a change of the leader may take, and their
// jobs may be there already.
func plan(policy Policy, due []time.Time, now time.Time, pausedAt *time.Time) (run []time.Time, skips []skip) {
	if pausedAt != nil {
		end := firstAfter(due, *pausedAt)
		skips = append(skips, skipOf(claim.SkippedPaused, due[end:]))
		due = due[:end]
	}
	onTime := firstAfter(due, now.Add(-OnTime))
	kept, reason := max(0, policy.MaxCount-len(due[onTime:])), claim.SkippedCapped
	switch policy.CatchUp {
	case Latest:
		kept, reason = 1-min(1, len(due[onTime:])), claim.SkippedSuperseded
	case None:
		kept, reason = 0, claim.SkippedLate
	case All:
	}
	dropped := max(0, onTime-kept)
	skips = append(skips, skipOf(reason, due[:dropped]))
	due = due[dropped:]

	late := firstAfter(due, now.Add(-policy.MaxLateness))
	skips = append(skips, skipOf(claim.SkippedLate, due[:late]))
	return due[late:], slices.DeleteFunc(skips, func(s skip) bool { return s.slots == 0 })
}

// firstAfter is the index of the first instant at or after a limit.
func firstAfter(slots []time.Time, limit time.Time) int {
	i, _ := slices.BinarySearchFunc(slots, limit, time.Time.Compare)
	return i
}

func skipOf(outcome claim.Outcome, slots []time.Time) skip {
	if len(slots) == 0 {
		return skip{}
	}
	return skip{outcome, slots[0], slots[len(slots)-1], int64(len(slots))}
}
