package periodic

// What an idle pass asks, for the tests of what it costs.
const (
	DueSQL     = dueSQL
	AdvanceSQL = advanceSQL
)
