package periodic

import "time"

// A Source says where a schedule is from.
type Source string

// The sources of schedules.
const (
	Code   Source = "code"   // the registry of the replicas
	Stored Source = "stored" // a row of worker_schedules that somebody inserted
)

// An Action is what a stored schedule runs: one of SQL, Kind and Endpoint is
// set, with what belongs to it. JSON is text here, as it was stored.
type Action struct {
	SQL string // one statement

	Kind string // of a task
	Args string // its arguments, a JSON object

	Endpoint string // that configuration names
	Path     string
	Body     string // JSON; "" is none
}

// ActionColumns are the columns of worker_schedules that hold an action, in the
// order of [Action.Targets].
const ActionColumns = `coalesce(sql_statement, ''), coalesce(enqueue_kind, ''), coalesce(enqueue_args::text, ''),
       coalesce(http_endpoint, ''), coalesce(http_path, ''), coalesce(http_body::text, '')`

// Targets are what a row's [ActionColumns] are scanned into.
func (t *Action) Targets() []any {
	return []any{&t.SQL, &t.Kind, &t.Args, &t.Endpoint, &t.Path, &t.Body}
}

// StoredKind is the River kind of the jobs of all stored schedules, so that a
// replica can run what was added after it started.
const StoredKind = "stored_schedule"

// StoredArgs carry a slot of a stored schedule through River. The unique key of
// the job is the schedule's name and the slot's key.
type StoredArgs struct {
	Name string    `json:"name" river:"unique"`
	Key  string    `json:"key"  river:"unique"`
	Slot time.Time `json:"slot"`
}

// Kind implements [river.JobArgs].
func (StoredArgs) Kind() string { return StoredKind }
