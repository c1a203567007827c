// Package doctor looks for what keeps a service from its slots, or will: in its
// configuration, its database, and in what its replicas have left there. It
// writes nothing.
package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ranura/ranura/internal/workers"
)

// A Patient is a service, as one of its replicas would see it.
type Patient struct {
	DB        *pgxpool.Pool // as a replica opens it for its workers, of at least two connections
	Service   string
	Retention time.Duration // how long claims are kept
	Registry  *workers.Registry
}

// A Finding is what one check found.
type Finding struct {
	Check  string `json:"check"`
	Status Status `json:"status"`
	Found  string `json:"found"`
	Do     string `json:"do,omitempty"` // about it, if it is wrong
}

// Status says how a check ended.
type Status string

// The ends of a check.
const (
	OK      Status = "ok"
	Wrong   Status = "wrong"
	Skipped Status = "skipped" // without a database there is nothing to look at
)

// A verdict is fine if there is nothing to do.
type verdict struct{ found, do string }

type check struct {
	name string
	look func(context.Context, Patient) (verdict, error)
}

// checks are in the order in which one explains the next.
var checks = []check{
	{"connection", connection},
	{"pooler", pooler},
	{"migrations", migrated},
	{"privileges", privileges},
	{"zone data", zoneData},
	{"clock", clock},
	{"server limits", limits},
	{"connections", connections},
	{"durability", durability},
	{"retention", retention},
	{"replicas", replicas},
	{"leader", leader},
	{"schedules", schedules},
	{"unknown jobs", unknownJobs},
	{"overdue slots", overdue},
	{"failed jobs", failed},
}

// patience is longer than any check takes on a server that answers.
const patience = 10 * time.Second

// Examine makes every check. One that could not ask is wrong, and says why.
func Examine(ctx context.Context, patient Patient) []Finding {
	findings := make([]Finding, 0, len(checks))
	connected := true
	for i, check := range checks {
		if !connected {
			findings = append(findings, Finding{check.name, Skipped, "there is no connection", ""})
			continue
		}
		finding := check.make(ctx, patient)
		findings = append(findings, finding)
		connected = i > 0 || finding.Status == OK
	}
	return findings
}

func (c check) make(ctx context.Context, patient Patient) Finding {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	verdict, err := c.look(ctx, patient)
	switch {
	case err != nil:
		return Finding{c.name, Wrong, fmt.Sprintf("could not ask: %v", err), "mend what is wrong above, then look again"}
	case verdict.do != "":
		return Finding{c.name, Wrong, verdict.found, verdict.do}
	default:
		return Finding{c.name, OK, verdict.found, ""}
	}
}
