package chaos

import (
	"slices"
	"strings"
	"time"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
)

// timely judges how late slots were that nothing but a fault makes late.
func (v *verdict) timely(e *evidence) {
	for key, effects := range v.effects {
		if !e.known[key.Name].punctual() {
			continue
		}
		slot, at := effects[0].Slot, effects[0].WrittenAt
		v.lateness = append(v.lateness, at.Sub(slot))
		if deadline := e.deadline(slot); at.After(deadline) {
			v.add(late, "%s ran %.1f s late, %.1f s after what the faults explain", key, at.Sub(slot).Seconds(), at.Sub(deadline).Seconds())
		}
	}
	slices.Sort(v.lateness)
}

// deadline is when a slot must be at work: soon, or when all faults that it met
// on its way are over and their recovery as well. What is due in the first moments
// after a fault meets what that left behind: a backlog, and replicas that start.
func (e *evidence) deadline(slot time.Time) time.Time {
	deadline := slot.Add(onTime)
	for again := true; again; {
		again = false
		for _, strike := range e.strikes {
			end := strike.End.Add(recovery)
			if strike.Begin.Before(deadline) && strike.End.Add(onTime).After(slot) && end.After(deadline) {
				deadline, again = end, true
			}
		}
	}
	return deadline
}

// healthy judges the end: the last slots of every schedule were on time, every
// replica works, and no job is left in somebody's hands.
func (v *verdict) healthy(e *evidence, limit time.Time) {
	for name, t := range e.known {
		if !t.punctual() {
			continue
		}
		slots := slices.DeleteFunc(slices.Clone(e.expected), func(slot periodic.Slot) bool {
			return slot.Name != name || slot.At.After(limit)
		})
		want := min(tailLength, len(slots), int(limit.Sub(e.healedAt)/t.period))
		if quiet := v.onTimeAtTheEnd(slots); quiet < want {
			v.add(tail, "%s: only the last %d slots were on time", name, quiet)
		}
	}
	for _, place := range e.places {
		if !slices.ContainsFunc(e.claims, func(record claim.Record) bool {
			return record.RanAt.After(e.healedAt) && record.Replica != nil && strings.HasPrefix(*record.Replica, place+"-")
		}) {
			v.add(tail, "replica %s ran nothing after the last fault was healed", place)
		}
	}
	v.leftOver(e)
}

// onTimeAtTheEnd counts how many of the last slots, in a row, ran on time.
func (v *verdict) onTimeAtTheEnd(slots []periodic.Slot) (n int) {
	for _, slot := range slices.Backward(slots) {
		effects := v.effects[claim.Key{Name: slot.Name, Key: slot.Key}]
		if len(effects) != 1 || effects[0].WrittenAt.Sub(slot.At) > onTime {
			break
		}
		n++
	}
	return n
}

// leftOver judges River's rows.
func (v *verdict) leftOver(e *evidence) {
	ran := make(map[claim.Key]bool, len(e.claims))
	for _, record := range e.claims {
		ran[claim.Key{Name: record.Name, Key: record.Key}] = true
	}
	for _, job := range e.jobs {
		key := claim.Key{Name: job.Name, Key: job.Key}
		switch {
		case job.State == "running" && job.AttemptedAt.Before(e.readAt.Add(-recovery)):
			v.add(stuck, "job %d of %s is running since %s", job.ID, key, job.AttemptedAt.Format(time.TimeOnly))
		case job.State == "completed" && !ran[key]:
			v.add(lost, "job %d of %s is completed, and there is no claim", job.ID, key)
		case job.State == "discarded" && !ran[key] && e.excused[key] == "":
			v.add(stuck, "job %d of %s was given up", job.ID, key)
		}
	}
}

// byTimeAlone looks at no key, so that a wrong one cannot hide: the effects of
// a schedule, in the order in which they were written, must be as many as its
// slots, and the n-th not before the n-th slot.
func (v *verdict) byTimeAlone(e *evidence, limit time.Time) {
	slots, effects := make(map[string][]time.Time), make(map[string][]time.Time)
	open := make(map[claim.Key]bool)
	for _, finding := range v.Missing {
		open[claim.Key{Name: finding.Name, Key: finding.Key}] = e.excused[claim.Key{Name: finding.Name, Key: finding.Key}] != "" || finding.Slot.After(e.healedAt)
	}
	for _, slot := range e.expected {
		if key := (claim.Key{Name: slot.Name, Key: slot.Key}); !slot.At.After(limit) && !open[key] && !e.skipped(key, slot.At) {
			slots[slot.Name] = append(slots[slot.Name], slot.At)
		}
	}
	for _, effect := range e.effects {
		if !effect.Slot.After(limit) {
			effects[effect.Name] = append(effects[effect.Name], effect.WrittenAt)
		}
	}
	for name := range e.known {
		owed, done := slots[name], effects[name]
		slices.SortFunc(done, time.Time.Compare)
		if len(owed) != len(done) {
			v.add(unmatched, "%s: %d slots and %d effects", name, len(owed), len(done))
		}
		for i := range min(len(owed), len(done)) {
			if done[i].Before(owed[i]) {
				v.add(unmatched, "%s: effect %d was written at %s, before slot %d", name, i, done[i].Format(time.TimeOnly), i)
				break
			}
		}
	}
}

// skipped says that the slot is on record as skipped and did not run after all.
func (e *evidence) skipped(key claim.Key, at time.Time) bool {
	for _, record := range e.claims {
		if record.Name == key.Name && record.Key == key.Key {
			return record.Outcome != string(claim.Ran)
		}
	}
	for _, skip := range e.skips {
		if skip.Name == key.Name && !at.Before(skip.First) && !at.After(skip.Last) {
			return true
		}
	}
	return false
}
