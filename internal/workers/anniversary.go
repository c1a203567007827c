package workers

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/community"
	"github.com/ranura/ranura/internal/periodic"
)

// Anniversary congratulates the members who joined on the slot's local day of an
// earlier year. It runs all day, so that who is added during the day is not missed.
type Anniversary struct{}

func (Anniversary) Name() string { return "anniversary" }

func (Anniversary) Run(ctx context.Context, tx pgx.Tx, slot periodic.Slot) error {
	return community.CelebrateAnniversaries(ctx, tx, slot.At.In(mexicoCityLocation))
}
