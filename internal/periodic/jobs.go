package periodic

import (
	"github.com/riverqueue/river"
	"github.com/riverqueue/river/rivertype"
)

// Queue carries slots and nothing else, so that a backlog of other jobs never
// delays a slot.
const Queue = "slots"

// maxAttempts is far more than a slot should need. An attempt is also used up
// by a deploy, a rescue, or a fetch whose answer was lost, and a slot that has
// none left is a slot that needs a person.
const maxAttempts = 25

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
