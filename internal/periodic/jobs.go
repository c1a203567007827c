package periodic

import (
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"

	"github.com/ranura/ranura/internal/claim"
)

// Queue carries slots and nothing else, so that a backlog of other jobs never
// delays a slot.
const Queue = "slots"

// maxAttempts is out of the way: how long a slot is tried is up to GiveUpAfter.
// At one attempt in ten minutes it is two months.
const maxAttempts = 10_000

// InsertOpts are the options of every slot's job: unique by the arguments
// marked so, the slot's key, in every state.
//
// River's default states leave out cancelled and discarded, and would let a
// later trigger resurrect what an operator cancelled. ScheduledAt stays unset:
// River then sets it to the slot and the job is available at once, where a job
// with a time of its own waits for the scheduler's five-second round.
func InsertOpts() *river.InsertOpts {
	return &river.InsertOpts{
		MaxAttempts: maxAttempts,
		Queue:       Queue,
		UniqueOpts:  river.UniqueOpts{ByArgs: true, ByState: rivertype.JobStates()},
	}
}

// optionsFrom are InsertOpts for a job that no timer inserted. The source is no
// part of the unique key: whoever is first has the slot's place in the queue.
func optionsFrom(source claim.Source) *river.InsertOpts {
	options := InsertOpts()
	options.Metadata = []byte(`{"source":"` + source + `"}`)
	return options
}
