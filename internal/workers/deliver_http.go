package workers

import (
	"context"
	"encoding/json"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/delivery"
	"github.com/ranura/ranura/internal/periodic"
)

// DeliverHTTP posts a body to an endpoint that configuration names. Whoever may
// enqueue it may call every path of every endpoint, with our signature.
type DeliverHTTP struct {
	Endpoint string          `json:"endpoint"`
	Path     string          `json:"path"`
	Body     json.RawMessage `json:"body,omitempty"` // without one, the job's name and key are sent
}

func (DeliverHTTP) Name() string { return "deliver_http" }

// Request implements [Caller].
func (d DeliverHTTP) Request(periodic.Slot) delivery.Request {
	request := delivery.Request{Endpoint: d.Endpoint, Path: d.Path}
	if len(d.Body) > 0 {
		request.Body = d.Body
	}
	return request
}

// Run has nothing to add: the claim records what the endpoint answered.
func (DeliverHTTP) Run(context.Context, pgx.Tx) error { return nil }
