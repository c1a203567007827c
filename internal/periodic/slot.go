// Package periodic turns clock time into slots and slots into River jobs.
//
// The line runs one way: a [Definition] is parsed into a [Schedule], the
// schedule names its slots, and every slot becomes one River job. Schedules
// are pure: they read no clock and no database.
package periodic

import "time"

// A Slot is one nominal instant that a schedule names. It is an identity, not
// a moment of execution: a slot keeps its instant and its key however late it
// runs.
type Slot struct {
	Name string    // the schedule's name
	Key  string    // unique within the schedule: "2026-W22", or the UTC instant "2026-05-30T00:00:00Z"
	At   time.Time // UTC, whole seconds
}
