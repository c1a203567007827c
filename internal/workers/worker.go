// Package workers holds the workers, one file each, and the registry that
// ties each of them to its schedule. The River workers, the periodic jobs and
// the command line all derive from the registry, so they cannot drift apart.
package workers

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ranura/ranura/internal/periodic"
)

// A Worker does the work of one slot.
//
// Run writes its effects through tx and through nothing else; it never ends
// the transaction and never asks what time it is: slot.At is its only clock.
// It returns an error when it could not do its work, and then nothing of the
// attempt remains, the claim included. Several slots of one worker may run at
// once, on any replica; an attempt may be repeated until one commits.
//
// A Worker is a stateless value type: the zero value must answer Name.
type Worker interface {
	// Name is the River kind and the claim's name. It never changes once deployed.
	Name() string
	Run(ctx context.Context, tx pgx.Tx, slot periodic.Slot) error
}

// An Auditor is a worker whose effects can be counted apart from its claims, so
// that an audit can hold the one against the other.
type Auditor interface {
	// Effects tells, for each key of which there are effects that were written
	// since an instant, how often the same effect is there: once, if all is well.
	Effects(ctx context.Context, db *pgxpool.Pool, since time.Time) (map[string]int64, error)
}
