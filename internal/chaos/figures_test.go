package chaos

import (
	"cmp"
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"time"

	"github.com/ranura/ranura/internal/claim"
)

// figures says in numbers what was done, and what came of it.
func (v *verdict) figures(e *evidence) string {
	var text strings.Builder
	say := func(format string, args ...any) { fmt.Fprintf(&text, format+"\n", args...) }

	say("faults         %d of %d kinds", len(e.strikes), len(byKind(e.strikes)))
	for _, kind := range slices.Sorted(maps.Keys(byKind(e.strikes))) {
		strikes := byKind(e.strikes)[kind]
		latest, recovered := v.harm(e, strikes)
		say("  %-20s %4d   worst slot %5.1f s late; all done %4.1f s (median), %4.1f s (max) after the fault",
			kind, len(strikes), latest.Seconds(), median(recovered).Seconds(), slices.Max(recovered).Seconds())
	}
	say("slots          %d expected, %d ran, %d lost, %d doubled", v.Expected, v.Ran, len(v.violations[lost]), len(v.violations[doubled]))
	for _, reason := range slices.Sorted(maps.Keys(v.Skipped)) {
		say("  %-20s %4d", reason, v.Skipped[reason])
	}
	say("  %-20s %4d", "taken by operator", v.excused)
	if n := len(v.lateness); n > 0 {
		say("lateness       p50 %.2f s, p99 %.2f s, max %.2f s of %d punctual slots",
			v.lateness[n/2].Seconds(), v.lateness[n*99/100].Seconds(), v.lateness[n-1].Seconds(), n)
	}
	if n := len(e.strikes); n > 0 {
		say("bound          with no failure in %d faults, at most %.2f %% of faults lose or double a slot (95 %%, 3/n)", n, 300/float64(n))
	}
	say("coverage")
	for _, name := range slices.Sorted(maps.Keys(v.coverage(e))) {
		say("  %-32s %5d", name, v.coverage(e)[name])
	}
	for _, r := range rules {
		for i, violation := range v.violations[r] {
			if i == 10 {
				say("%-10s ... and %d more", r, len(v.violations[r])-i)
				break
			}
			say("%-10s %s", r, violation)
		}
	}
	return text.String()
}

func byKind(strikes []strike) map[string][]strike {
	kinds := make(map[string][]strike)
	for _, strike := range strikes {
		kinds[strike.Kind] = append(kinds[strike.Kind], strike)
	}
	return kinds
}

func median(of []time.Duration) time.Duration {
	return slices.Sorted(slices.Values(of))[len(of)/2]
}

// harm tells how late the worst of the slots was that came due under a fault,
// and how long after the end of each the last of them was at work. Where faults
// overlap, all of them answer for it.
func (v *verdict) harm(e *evidence, strikes []strike) (worst time.Duration, recovered []time.Duration) {
	for _, strike := range strikes {
		after := time.Duration(0)
		for key, effects := range v.effects {
			slot, at := effects[0].Slot, effects[0].WrittenAt
			if e.known[key.Name].punctual() && !slot.Before(strike.Begin) && !slot.After(strike.End) {
				worst, after = max(worst, at.Sub(slot)), max(after, at.Sub(strike.End))
			}
		}
		recovered = append(recovered, after)
	}
	return worst, recovered
}

var retried = regexp.MustCompile(`SQLSTATE (40001|40P01|23505)`)

// coverage counts what a run must have met to say anything.
func (v *verdict) coverage(e *evidence) map[string]int {
	winner, caughtUp := make(map[claim.Key]effect), make(map[string]int)
	for _, effect := range e.effects {
		winner[claim.Key{Name: effect.Name, Key: effect.Key}] = effect
	}
	for _, record := range e.claims {
		if record.Source == claim.CatchUp {
			caughtUp[fmt.Sprint(record.Name, record.RanAt.Unix()/10)]++
		}
	}
	count := map[string]int{
		"claim lost to a peer": 0, "commit unknown, had committed": 0, "commit unknown, had not": 0,
		"zombie after hand-back": 0, "catch-up of several slots": 0, "retried 40001, 40P01 or 23505": 0,
	}
	for _, n := range caughtUp {
		count["catch-up of several slots"] += min(n/2, 1)
	}
	for _, event := range e.events {
		won, ran := winner[event.key]
		switch {
		case event.kind == noop:
			count["claim lost to a peer"]++
		case event.kind == info && ran && won.Nonce == event.nonce:
			count["commit unknown, had committed"]++
		case event.kind == info:
			count["commit unknown, had not"]++
		}
		lost := event.kind == fail || event.kind == info
		if lost && ran && event.nonce != "" && won.Nonce != event.nonce && won.WrittenAt.Before(event.at) {
			count["zombie after hand-back"]++
		}
		if lost && ran && retried.MatchString(event.text) {
			count["retried 40001, 40P01 or 23505"]++
		}
	}
	return count
}

// notCovered lists what did not happen and should have.
func (v *verdict) notCovered(e *evidence) (names []string) {
	for name, n := range v.coverage(e) {
		if n == 0 {
			names = append(names, name)
		}
	}
	slices.SortFunc(names, cmp.Compare)
	return names
}
