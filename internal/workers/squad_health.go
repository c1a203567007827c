package workers

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/community"
	"github.com/ranura/ranura/internal/periodic"
)

// SquadHealth measures every squad over the week before the slot and warns the
// leaders of the quiet ones.
type SquadHealth struct{}

func (SquadHealth) Name() string { return "squad_health" }

func (SquadHealth) Run(ctx context.Context, tx pgx.Tx, slot periodic.Slot) error {
	return community.MeasureSquads(ctx, tx, weekBefore(slot))
}
