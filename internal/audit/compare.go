// Package audit compares what should have happened with what did: the slots
// that the schedules name against the claims and the recorded skips. It is the
// judge behind "app audit" and behind the fault suite, and takes no part in the
// work that it judges.
package audit

import (
	"cmp"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
)

// A Skip is a range of slots that were recorded as not to be run; First and
// Last belong to it.
type Skip struct {
	Name        string
	First, Last time.Time
	Outcome     string
}

// A Finding is one slot about which there is something to say.
type Finding struct {
	Name     string         `json:"name"`
	Key      string         `json:"key"`
	Slot     time.Time      `json:"slot,omitzero"` // zero: the key names no slot
	Lateness float64        `json:"lateness_seconds,omitempty"`
	Runs     []claim.Record `json:"runs,omitempty"` // the claims that it is about
	Note     string         `json:"note,omitempty"`
}

// A Report is the result of a comparison, oldest slot first.
type Report struct {
	Expected int            `json:"expected"` // slots
	Ran      int            `json:"ran"`      // of them
	Skipped  map[string]int `json:"skipped"`  // of them, by the reason on record

	Missing    []Finding `json:"missing"`    // neither run nor skipped; the note says whether it was refused
	Doubled    []Finding `json:"doubled"`    // run more than once
	Unexpected []Finding `json:"unexpected"` // run, and no slot of the schedule
	Late       []Finding `json:"late"`       // run, later than asked for; a remark, no discrepancy
	Forced     []Finding `json:"forced"`     // run once more by an operator, under a key that says so; a remark
}

// Agrees says whether everything that was owed happened, once, and nothing else.
func (r Report) Agrees() bool {
	return len(r.Missing)+len(r.Doubled)+len(r.Unexpected) == 0
}

// Compare judges claims and skips by the slots that were expected. A claim is
// that of a slot if it has the slot's name and key; its instant is not asked
// for, as a claim made by a plain INSERT has none. A slot that was skipped and
// then run by hand counts as run. Runs that began more than lateAfter behind
// their slot are late.
//
// Pass only what belongs to the range that is judged: every claim that has no
// expected slot is reported.
func Compare(expected []periodic.Slot, happened []claim.Record, skips []Skip, lateAfter time.Duration) Report {
	report := Report{
		Expected: len(expected), Skipped: map[string]int{},
		Missing: []Finding{}, Doubled: []Finding{}, Unexpected: []Finding{}, Late: []Finding{}, Forced: []Finding{}, // [] in JSON, not null
	}
	claims := make(map[claim.Key][]claim.Record, len(happened))
	for _, record := range happened {
		key := claim.Key{Name: record.Name, Key: record.Key}
		claims[key] = append(claims[key], record)
	}
	for _, slot := range expected {
		key := claim.Key{Name: slot.Name, Key: slot.Key}
		judge(&report, slot, claims[key], skips, lateAfter)
		delete(claims, key)
	}
	for _, rest := range claims {
		rest = slices.DeleteFunc(rest, func(record claim.Record) bool { return record.Outcome != string(claim.Ran) })
		if len(rest) > 0 { // what was decided against without being owed did no harm
			remark(&report, rest)
		}
	}
	for _, findings := range [][]Finding{report.Missing, report.Doubled, report.Unexpected, report.Late, report.Forced} {
		slices.SortFunc(findings, func(a, b Finding) int {
			return cmp.Or(a.Slot.Compare(b.Slot), cmp.Compare(a.Name, b.Name), cmp.Compare(a.Key, b.Key))
		})
	}
	return report
}

// judge settles one expected slot.
func judge(r *Report, slot periodic.Slot, claims []claim.Record, skips []Skip, lateAfter time.Duration) {
	finding := Finding{Name: slot.Name, Key: slot.Key, Slot: slot.At}
	var runs []claim.Record
	reason := ""
	for _, record := range claims {
		if record.Outcome == string(claim.Ran) {
			runs = append(runs, record)
		} else {
			reason = record.Outcome
		}
	}
	for _, skip := range skips {
		if reason == "" && skip.Name == slot.Name && !slot.At.Before(skip.First) && !slot.At.After(skip.Last) {
			reason = skip.Outcome
		}
	}
	switch {
	case len(runs) == 0 && reason == string(claim.Refused):
		finding.Note = refusal(claims)
		r.Missing = append(r.Missing, finding)
		return
	case len(runs) == 0 && reason == "":
		r.Missing = append(r.Missing, finding)
		return
	case len(runs) == 0:
		r.Skipped[reason]++
		return
	case len(runs) > 1:
		r.Doubled = append(r.Doubled, Finding{Name: slot.Name, Key: slot.Key, Slot: slot.At, Runs: runs})
	}
	r.Ran++
	if late := runs[0].RanAt.Sub(slot.At); late > lateAfter {
		finding.Lateness, finding.Runs = late.Seconds(), runs[:1]
		r.Late = append(r.Late, finding)
	}
}

// refusal says why a slot was refused, as its claim keeps it.
func refusal(claims []claim.Record) string {
	var output struct {
		Error string `json:"error"`
	}
	for _, record := range claims {
		if json.Unmarshal(record.Output, &output) == nil && output.Error != "" {
			return "refused: " + output.Error
		}
	}
	return "refused"
}

// remark reports claims that no expected slot accounts for.
func remark(r *Report, claims []claim.Record) {
	first := claims[0]
	finding := Finding{Name: first.Name, Key: first.Key, Runs: claims}
	if first.Slot != nil {
		finding.Slot = *first.Slot
	}
	if strings.Contains(first.Key, forced) && len(claims) == 1 {
		r.Forced = append(r.Forced, finding)
		return
	}
	r.Unexpected = append(r.Unexpected, finding)
}

// forced is in the key of a run that an operator forced, and in no other: no
// key format has a space.
const forced = " forced "
