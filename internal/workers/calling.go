package workers

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/periodic"
)

// calling has the slots of a stored schedule done by an endpoint. It is a
// [Caller]: without a body of its own, the slot is sent.
type calling struct {
	DeliverHTTP

	name string
}

func (c calling) Name() string { return c.name }

// Run has nothing to add: the claim records what the endpoint answered.
func (calling) Run(context.Context, pgx.Tx, periodic.Slot) error { return nil }
