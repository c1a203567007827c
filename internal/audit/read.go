package audit

import (
	"context"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
)

// A Range is what to audit: the slots in (From, To] of one schedule, or of
// every one if Name is empty. To should be a little behind the database's
// clock: a slot that has only just come due is not missing yet.
type Range struct {
	Name      string
	From, To  time.Time
	LateAfter time.Duration // see [Compare]
}

// Run audits a range of what the database holds, on one snapshot if db is a
// REPEATABLE READ transaction. A schedule owes nothing from before it was first
// known, and nothing is judged from before its definition last changed, because
// the one before is not kept.
func Run(ctx context.Context, db claim.Querier, over Range) (Report, error) {
	schedules, err := definitions(ctx, db, over)
	if err != nil {
		return Report{}, err
	}
	var expected []periodic.Slot
	var happened []claim.Record
	for _, s := range schedules {
		for slot := range s.Slots(s.from, s.to) {
			expected = append(expected, slot)
		}
		records, err := claims(ctx, db, s)
		if err != nil {
			return Report{}, err
		}
		happened = append(happened, records...)
	}
	skips, err := skips(ctx, db, over)
	if err != nil {
		return Report{}, err
	}
	return Compare(expected, happened, skips, over.LateAfter), nil
}

// judged is a schedule and the part of the range in which it owes its slots.
type judged struct {
	periodic.Schedule

	from, to time.Time
}

const definitionsSQL = `
SELECT name, ` + periodic.DefinitionColumns + `,
       greatest($2, known_since, definition_changed_at), least($3, removed_at)
FROM worker_schedules
WHERE ($1 = '' OR name = $1) AND (source = 'code' OR adopted_at IS NOT NULL) -- a stored one that is refused owes nothing
ORDER BY name`

func definitions(ctx context.Context, db claim.Querier, over Range) (schedules []judged, err error) {
	rows, err := db.Query(ctx, definitionsSQL, over.Name, over.From, over.To)
	if err != nil {
		return nil, fmt.Errorf("read schedules: %w", err)
	}
	var name string
	var stored periodic.Definition
	var from, to time.Time
	into := append([]any{&name}, stored.Targets()...)
	_, err = pgx.ForEachRow(rows, append(into, &from, &to), func() error {
		schedule, err := periodic.Parse(name, stored)
		schedules = append(schedules, judged{schedule, from, to})
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("read schedules: %w", err)
	}
	return schedules, nil
}

func claims(ctx context.Context, db claim.Querier, s judged) ([]claim.Record, error) {
	all, err := claim.Between(ctx, db, s.Name, s.from, s.to)
	if err != nil {
		return nil, err
	}
	inRange := all[:0]
	for _, record := range all {
		if record.Slot == nil {
			if slot, err := s.ForKey(record.Key); err == nil {
				record.Slot = &slot.At
			}
		}
		if at := record.Slot; at == nil || at.After(s.from) && !at.After(s.to) {
			inRange = append(inRange, record)
		}
	}
	return inRange, nil
}

const skipsSQL = `
SELECT name, first_slot, last_slot, outcome
FROM slot_skips
WHERE ($1 = '' OR name = $1) AND last_slot > $2 AND first_slot <= $3
ORDER BY id`

func skips(ctx context.Context, db claim.Querier, over Range) ([]Skip, error) {
	rows, err := db.Query(ctx, skipsSQL, over.Name, over.From, over.To)
	if err != nil {
		return nil, fmt.Errorf("read skips: %w", err)
	}
	skips, err := pgx.CollectRows(rows, pgx.RowToStructByPos[Skip])
	if err != nil {
		return nil, fmt.Errorf("read skips: %w", err)
	}
	return skips, nil
}
