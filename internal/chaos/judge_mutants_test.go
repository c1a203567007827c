package chaos

import (
	"fmt"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/audit"
	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
)

var start = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)

// healthyRun is the evidence of a hundred seconds in which nothing went wrong:
// one schedule, its slots run on time on A and B in turn, the last fault healed
// halfway.
func healthyRun() *evidence {
	e := &evidence{
		known: map[string]traits{"quickly": quickly{}.traits()}, places: []string{"A", "B"}, balance: accounts * initialBalance,
		healedAt: start.Add(50 * time.Second), readAt: start.Add(106 * time.Second), excused: map[claim.Key]string{},
		strikes: []strike{{Kind: "kill one", Begin: start.Add(40 * time.Second), End: start.Add(41 * time.Second)}},
	}
	for n := range 100 {
		at := start.Add(time.Duration(n+1) * time.Second)
		key, nonce, place := at.Format(time.RFC3339), fmt.Sprint("nonce", n), e.places[n%2]+"-abc"
		e.expected = append(e.expected, periodic.Slot{Name: "quickly", Key: key, At: at})
		e.claims = append(e.claims, claim.Record{Name: "quickly", Key: key, Slot: &at, RanAt: at.Add(10 * time.Millisecond), Outcome: "ran", Replica: &place})
		e.effects = append(e.effects, effect{"quickly", key, nonce, at, partsOfAnEffect, at.Add(20 * time.Millisecond)})
		e.jobs = append(e.jobs, job{ID: int64(n), Name: "quickly", Key: key, State: "completed", AttemptedAt: &at})
		e.events = append(e.events,
			event{process: place, at: at.Add(20 * time.Millisecond), kind: began, key: claim.Key{Name: "quickly", Key: key}, nonce: nonce},
			event{process: place, at: at.Add(30 * time.Millisecond), kind: ok, key: claim.Key{Name: "quickly", Key: key}, nonce: nonce})
	}
	return e
}

// again runs slot n once more.
func (e *evidence) again(n int) {
	twin := e.effects[n]
	twin.Nonce += " again"
	twin.WrittenAt = twin.WrittenAt.Add(20 * time.Second)
	e.effects = append(e.effects, twin)
}

// without takes out slot n, as if nobody had ever thought of it.
func (e *evidence) without(n int) {
	e.claims, e.effects = remove(e.claims, n), remove(e.effects, n)
	e.jobs, e.events = remove(e.jobs, n), remove(remove(e.events, 2*n), 2*n)
}

func remove[T any](from []T, n int) []T { return append(from[:n:n], from[n+1:]...) }

// The judge must see what each of these mistakes in the service would leave
// behind, and must not see what is none.
func TestJudge(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		mistake func(e *evidence)
		sees    []rule
	}{
		"NoClaim":                   {func(e *evidence) { e.again(7); e.claims = nil }, []rule{lost, doubled, phantom, tail, unmatched}},
		"ClaimInASavepoint":         {func(e *evidence) { e.again(7) }, []rule{doubled, unmatched}},
		"ClaimByUpsert":             {func(e *evidence) { e.again(3); e.again(3) }, []rule{doubled, unmatched}},
		"ClaimsPurgedTooSoon":       {func(e *evidence) { e.again(0); e.again(1) }, []rule{doubled, unmatched}},
		"ClaimInAnotherTransaction": {func(e *evidence) { e.claims = remove(e.claims, 7) }, []rule{phantom, lost}},
		"EffectInAnotherTransaction": {func(e *evidence) { e.effects = remove(e.effects, 7); e.events = remove(e.events, 15) },
			[]rule{lost, unmatched}},
		"AsynchronousCommit": {func(e *evidence) { events := e.events; e.without(7); e.events = events },
			[]rule{lost, forgotten, unmatched}},
		"CompletionUnchecked": {func(e *evidence) { jobs := e.jobs; e.without(7); e.jobs = jobs }, []rule{lost, unmatched}},
		"SlotFromTheClock":    {func(e *evidence) { e.effects[7].Key, e.claims[7].Key = e.effects[7].Key+"x", e.claims[7].Key+"x" }, []rule{lost, phantom}},
		"UniqueByPeriod":      {func(e *evidence) { e.without(9); e.without(7) }, []rule{lost, unmatched}},
		"MarkBeforeInsert":    {func(e *evidence) { e.without(41) }, []rule{lost, unmatched}},
		"CatchUpOff": {func(e *evidence) {
			for range 12 {
				e.without(40)
			}
		}, []rule{lost, unmatched}},
		"OwnClock":      {func(e *evidence) { e.effects[7].WrittenAt = e.effects[7].Slot.Add(-time.Second) }, []rule{early, unmatched}},
		"NoIdleTimeout": {func(e *evidence) { e.effects[39].WrittenAt = e.effects[39].Slot.Add(50 * time.Second) }, []rule{late}},
		"HalfAnEffect":  {func(e *evidence) { e.effects[7].Parts = 2 }, []rule{torn}},
		"MoneyFromAir":  {func(e *evidence) { e.balance++ }, []rule{torn}},
		"FailedButDone": {func(e *evidence) { e.events[15].kind = fail }, []rule{phantom}},
		"NotOwed":       {func(e *evidence) { e.expected = e.expected[1:] }, []rule{phantom, unmatched}},
		"SlowAtTheEnd":  {func(e *evidence) { e.effects[98].WrittenAt = e.effects[98].Slot.Add(6 * time.Second) }, []rule{late, tail}},
		"DeadReplica":   {func(e *evidence) { e.places = append(e.places, "C") }, []rule{tail}},
		"LeftRunning":   {func(e *evidence) { e.jobs[7].State = "running" }, []rule{stuck}},
		"GivenUp":       {func(e *evidence) { jobs := e.jobs; e.without(7); e.jobs = jobs; e.jobs[7].State = "discarded" }, []rule{lost, stuck, unmatched}},
		"NothingOwed":   {func(e *evidence) { *e = evidence{balance: e.balance, readAt: e.readAt, healedAt: e.healedAt} }, []rule{unknown}},
		"NoHistory":     {func(e *evidence) { e.events = nil }, []rule{unknown}},
		"BrokenHistory": {func(e *evidence) { e.odd = []string{"A-001.jsonl: panic"} }, []rule{unknown}},
		"None":          {func(*evidence) {}, nil},
		"Skipped":       {func(e *evidence) { e.without(7); e.skips = []audit.Skip{e.skip(7)} }, nil},
		"TakenAway": {func(e *evidence) {
			e.excused[claim.Key{Name: "quickly", Key: e.expected[7].Key}] = "deleted"
			e.without(7)
		}, nil},
		"AnswerLost":           {func(e *evidence) { e.events[15].kind = info }, nil},
		"LateLongAfterAFault":  {func(e *evidence) { e.effects[45].WrittenAt = e.effects[45].Slot.Add(6 * time.Second) }, []rule{late}},
		"LateByWhatAFaultLeft": {func(e *evidence) { e.effects[42].WrittenAt = e.effects[42].Slot.Add(15 * time.Second) }, nil},
		"LateByAFault":         {func(e *evidence) { e.effects[39].WrittenAt = e.effects[39].Slot.Add(20 * time.Second) }, nil},
		"StillBeingTried": {func(e *evidence) {
			jobs := e.jobs
			e.known["quickly"] = traits{name: "quickly", period: second, fails: 0.2}
			e.without(98)
			e.jobs = jobs
			e.jobs[98].State = "retryable"
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			e := healthyRun()
			c.mistake(e)
			var seen []rule
			verdict := judge(e)
			for _, r := range rules {
				if len(verdict.violations[r]) > 0 {
					seen = append(seen, r)
				}
			}
			require.ElementsMatch(t, c.sees, seen)
		})
	}
}

func (e *evidence) skip(n int) audit.Skip {
	at := e.expected[n].At
	return audit.Skip{Name: "quickly", First: at, Last: at, Outcome: "skipped_late"}
}
