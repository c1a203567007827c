package doctor

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/periodic"
)

const wallFormat = "2006-01-02 15:04:05"

// known are instants whose wall time stale zone data gets wrong: Mexico ended
// summer time in October 2022, and the border kept it. (IANA 2022f)
var known = []struct {
	zone string
	at   time.Time
	wall string
}{
	{"America/Mexico_City", time.Date(2026, 4, 6, 15, 0, 0, 0, time.UTC), "2026-04-06 09:00:00"},
	{"America/Tijuana", time.Date(2023, 3, 11, 17, 0, 0, 0, time.UTC), "2023-03-11 09:00:00"},
	{"America/Tijuana", time.Date(2023, 3, 12, 16, 0, 0, 0, time.UTC), "2023-03-12 09:00:00"},
}

// zoneData holds this machine's zone data and the server's against known answers,
// and against each other at the next slot of each schedule. Slots are named by
// this machine's; people read the server's in their queries.
func zoneData(ctx context.Context, p Patient) (verdict, error) {
	for _, k := range known {
		if v, err := compareZones(ctx, p, k.zone, k.at, k.wall); err != nil || v.do != "" {
			return v, err
		}
	}
	now, err := periodic.Now(ctx, p.DB)
	if err != nil {
		return verdict{}, err
	}
	for _, schedule := range p.Registry.Schedules() {
		next := schedule.Next(now)
		if next.IsZero() {
			continue
		}
		if v, err := compareZones(ctx, p, schedule.Zone, next, ""); err != nil || v.do != "" {
			return v, err
		}
	}
	return verdict{found: periodic.ZoneData() + ", and the server agrees"}, nil
}

// compareZones compares the two wall times of an instant with each other and with
// the known one, if there is one.
func compareZones(ctx context.Context, p Patient, zone string, at time.Time, wall string) (verdict, error) {
	location, err := time.LoadLocation(zone)
	if err != nil {
		return verdict{}, err
	}
	theirs, err := serverWall(ctx, p, zone, at)
	if err != nil {
		return verdict{}, fmt.Errorf("zone %q: %w", zone, err)
	}
	ours := at.In(location).Format(wallFormat)
	instant := at.UTC().Format(time.RFC3339)
	switch {
	case wall != "" && ours != wall:
		return verdict{fmt.Sprintf("%s in %s is %s, this machine says %s", instant, zone, wall, ours),
			"its zone data is stale and slots run at the wrong time: update the system's tzdata, or unset ZONEINFO"}, nil
	case wall != "" && theirs != wall:
		return verdict{fmt.Sprintf("%s in %s is %s, the server says %s", instant, zone, wall, theirs), "the server's zone data is stale: update its tzdata"}, nil
	case ours != theirs:
		return verdict{fmt.Sprintf("%s in %s: %s says this machine, %s the server", instant, zone, ours, theirs), "update the tzdata of the older one"}, nil
	}
	return verdict{}, nil
}

const wallSQL = `
WITH zone AS MATERIALIZED (SELECT set_config('TimeZone', $1, true))
SELECT to_char($2::timestamptz, 'YYYY-MM-DD HH24:MI:SS') FROM zone`

func serverWall(ctx context.Context, p Patient, zone string, at time.Time) (wall string, err error) {
	err = pgx.BeginFunc(ctx, p.DB, func(tx pgx.Tx) error { return tx.QueryRow(ctx, wallSQL, zone, at).Scan(&wall) })
	return wall, err
}
