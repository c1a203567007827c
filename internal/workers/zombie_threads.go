package workers

import (
	"context"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/community"
	"github.com/ranura/ranura/internal/periodic"
)

// ZombieThreads nudges the threads that fell silent and closes those that stayed so.
type ZombieThreads struct{}

func (ZombieThreads) Name() string { return "zombie_threads" }

func (ZombieThreads) Run(ctx context.Context, tx pgx.Tx, slot periodic.Slot) error {
	if err := community.NudgeThreads(ctx, tx, slot.At); err != nil {
		return err
	}
	return community.CloseThreads(ctx, tx, slot.At)
}
