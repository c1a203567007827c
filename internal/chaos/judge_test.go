package chaos

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/ranura/ranura/internal/audit"
	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
)

// A rule is something that must never be.
type rule string

const (
	lost      rule = "lost"      // a slot that was owed left nothing
	doubled   rule = "doubled"   // ... or more than one effect
	phantom   rule = "phantom"   // an effect that nobody owed, or of an attempt that had failed
	torn      rule = "torn"      // half an effect, or money out of nothing
	forgotten rule = "forgotten" // acknowledged, and gone
	early     rule = "early"
	late      rule = "late"
	tail      rule = "tail" // not healthy again at the end
	stuck     rule = "stuck"
	unmatched rule = "unmatched" // the cross-check that looks at times and no keys
	unknown   rule = "unknown"   // the judge cannot tell
)

// rules is their order in the report.
var rules = []rule{lost, doubled, phantom, torn, forgotten, early, late, tail, stuck, unmatched, unknown}

// A verdict is what the judge found. It is good if there are no violations.
type verdict struct {
	audit.Report

	violations map[rule][]string
	excused    int // owed slots that an operator had taken away
	effects    map[claim.Key][]effect
	lateness   []time.Duration // of the punctual schedules
}

func (v *verdict) add(r rule, format string, args ...any) {
	v.violations[r] = append(v.violations[r], fmt.Sprintf(format, args...))
}

const (
	recovery   = 20 * time.Second // from the end of a fault until what it delayed is done
	settling   = 5 * time.Second  // a slot that is younger is not judged yet
	onTime     = 5 * time.Second
	tailLength = 5
)

// judge is pure: the same evidence gives the same verdict.
func judge(e *evidence) *verdict {
	v := &verdict{violations: make(map[rule][]string), effects: make(map[claim.Key][]effect)}
	limit := e.readAt.Add(-settling)
	for _, effect := range e.effects {
		if !effect.Slot.After(limit) {
			key := claim.Key{Name: effect.Name, Key: effect.Key}
			v.effects[key] = append(v.effects[key], effect)
		}
	}
	v.compare(e, limit)
	v.balance(e)
	v.acknowledged(e)
	v.timely(e)
	v.healthy(e, limit)
	v.byTimeAlone(e, limit)
	if len(e.expected) == 0 {
		v.add(unknown, "no slot was owed")
	}
	if !slices.ContainsFunc(e.events, func(event event) bool { return event.kind == ok }) {
		v.add(unknown, "no history tells of a commit")
	}
	for _, text := range e.odd {
		v.add(unknown, "history: %.200s", text)
	}
	return v
}

// compare judges by keys: every owed slot, its claim and its effects.
func (v *verdict) compare(e *evidence, limit time.Time) {
	due := slices.DeleteFunc(slices.Clone(e.expected), func(s periodic.Slot) bool { return s.At.After(limit) })
	var happened []claim.Record
	claims := make(map[claim.Key]bool)
	for _, record := range e.claims {
		if record.Outcome != string(claim.Ran) {
			happened = append(happened, record)
			continue
		}
		claims[claim.Key{Name: record.Name, Key: record.Key}] = true
		if key := (claim.Key{Name: record.Name, Key: record.Key}); len(v.effects[key]) == 0 && !record.Slot.After(limit) {
			v.add(lost, "%s has a claim and no effect", key)
		}
	}
	for key, effects := range v.effects {
		for _, effect := range effects {
			slot := effect.Slot
			happened = append(happened, claim.Record{Name: key.Name, Key: key.Key, Slot: &slot, RanAt: effect.WrittenAt, Outcome: string(claim.Ran)})
		}
		if !claims[key] {
			v.add(phantom, "%s has an effect and no claim", key)
		}
	}
	v.Report = audit.Compare(due, happened, e.skips, onTime)
	v.missing(e)
	for _, finding := range v.Doubled {
		v.add(doubled, "%s@%s ran %d times", finding.Name, finding.Key, len(finding.Runs))
	}
	for _, finding := range v.Unexpected {
		v.add(phantom, "%s@%s is no slot that was owed", finding.Name, finding.Key)
	}
}

// missing tells lost slots from those that an operator took away, and from
// those that are still being tried at the end.
func (v *verdict) missing(e *evidence) {
	alive := make(map[claim.Key]bool)
	for _, job := range e.jobs {
		if !slices.Contains([]string{"cancelled", "completed", "discarded"}, job.State) {
			alive[claim.Key{Name: job.Name, Key: job.Key}] = true
		}
	}
	for _, finding := range v.Missing {
		key := claim.Key{Name: finding.Name, Key: finding.Key}
		switch {
		case e.excused[key] != "":
			v.excused++
		case finding.Slot.After(e.healedAt) && alive[key]:
		default:
			v.add(lost, "%s left nothing; its job: %s", key, jobsOf(e, key))
		}
	}
}

func jobsOf(e *evidence, key claim.Key) string {
	var states []string
	for _, job := range e.jobs {
		if job.Name == key.Name && job.Key == key.Key {
			states = append(states, fmt.Sprintf("%d %s, scheduled at %s", job.ID, job.State, job.ScheduledAt.UTC().Format(time.TimeOnly)))
		}
	}
	if len(states) == 0 {
		return "none"
	}
	return strings.Join(states, ", ")
}
