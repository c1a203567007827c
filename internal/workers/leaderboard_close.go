package workers

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ranura/ranura/internal/community"
	"github.com/ranura/ranura/internal/periodic"
)

// mexicoCity is the zone that the community lives in: its schedules are read
// there, and its members read dates there.
const mexicoCity = "America/Mexico_City"

var mexicoCityLocation = loadLocation(mexicoCity)

// loadLocation panics on an unknown zone. It cannot be unknown: package
// periodic embeds the zone data.
func loadLocation(zone string) *time.Location {
	location, err := time.LoadLocation(zone)
	if err != nil {
		panic(fmt.Sprintf("load zone %s: %v", zone, err))
	}
	return location
}

// weekBefore is the seven days up to the slot, booked under the slot's key.
// They are the zone's calendar days, so that a week begins where the last one
// ended even across a clock change.
func weekBefore(slot periodic.Slot) community.Week {
	to := slot.At.In(mexicoCityLocation)
	return community.Week{Period: slot.Key, From: to.AddDate(0, 0, -7), To: to}
}

// LeaderboardClose pays the week's best three and posts the summary thread.
type LeaderboardClose struct{}

func (LeaderboardClose) Name() string { return "leaderboard_close" }

func (LeaderboardClose) Run(ctx context.Context, tx pgx.Tx, slot periodic.Slot) error {
	return community.CloseLeaderboard(ctx, tx, weekBefore(slot))
}

// Effects implements [Auditor]: the bonuses in the ledger.
func (LeaderboardClose) Effects(ctx context.Context, db *pgxpool.Pool, since time.Time) (map[string]int64, error) {
	return community.Paid(ctx, db, community.Leaderboard, since)
}
