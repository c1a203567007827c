package workers

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/community"
	"github.com/ranura/ranura/internal/periodic"
)

// WeeklyDigest sends each active member the digest of the week before the slot.
type WeeklyDigest struct{}

func (WeeklyDigest) Name() string { return "weekly_digest" }

func (WeeklyDigest) Run(ctx context.Context, tx pgx.Tx, slot periodic.Slot) error {
	return community.SendDigests(ctx, tx, weekBefore(slot))
}
