package chaos

import (
	"context"
	"fmt"
	"maps"
	"math"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/ranura/ranura/internal/audit"
	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
)

// evidence is all that the judge knows.
type evidence struct {
	expected []periodic.Slot // every slot up to readAt
	known    map[string]traits
	places   []string // the names of the replicas

	claims   []claim.Record
	skips    []audit.Skip
	effects  []effect
	jobs     []job
	balance  int64
	events   []event
	odd      []string // lines of the histories that nobody can read
	strikes  []strike
	excused  map[claim.Key]string
	healedAt time.Time
	readAt   time.Time
}

// An effect is what one nonce left behind.
type effect struct {
	Name, Key, Nonce string
	Slot             time.Time
	Parts            int
	WrittenAt        time.Time
}

// A job is River's row of a slot.
type job struct {
	ID          int64
	Name, Key   string
	State       string
	AttemptedAt *time.Time
	ScheduledAt time.Time
}

const (
	effectsSQL = `
SELECT name, key, nonce, min(slot), count(*)::int, min(written_at) FROM effects GROUP BY name, key, nonce`

	jobsSQL = `
SELECT id, kind, args->>'key', state::text, attempted_at, scheduled_at FROM river_job WHERE queue = 'slots'`

	allSkipsSQL = `SELECT name, first_slot, last_slot, outcome FROM slot_skips`

	schedulesSQL = `SELECT name, known_since, definition_changed_at FROM worker_schedules`

	balanceSQL = `SELECT clock_timestamp(), (SELECT sum(amount)::bigint FROM balances)`
)

// gather reads the database in one snapshot, and then the histories, which may
// know of more.
func gather(ctx context.Context, c *cluster, strikes []strike, healedAt time.Time) (*evidence, error) {
	e := &evidence{strikes: strikes, healedAt: healedAt, known: make(map[string]traits)}
	for _, t := range append(stable(), newcomer{}.traits(), changed(secondVersion)) {
		e.known[t.name] = t
	}
	for _, r := range c.replicas {
		e.places = append(e.places, r.name)
	}
	err := pgx.BeginTxFunc(ctx, c.db, pgx.TxOptions{IsoLevel: pgx.RepeatableRead, AccessMode: pgx.ReadOnly}, func(tx pgx.Tx) error {
		return e.read(ctx, tx)
	})
	if err != nil {
		return nil, fmt.Errorf("gather evidence: %w", err)
	}
	c.excused.mu.Lock()
	e.excused = maps.Clone(c.excused.slots)
	c.excused.mu.Unlock()
	e.events, e.odd, err = readHistories(c.folder)
	return e, err
}

func (e *evidence) read(ctx context.Context, tx pgx.Tx) (err error) {
	if err = tx.QueryRow(ctx, balanceSQL).Scan(&e.readAt, &e.balance); err != nil {
		return err
	}
	if e.effects, err = collect[effect](ctx, tx, effectsSQL); err != nil {
		return err
	}
	if e.jobs, err = collect[job](ctx, tx, jobsSQL); err != nil {
		return err
	}
	if e.claims, err = claim.History(ctx, tx, "", time.Time{}, math.MaxInt32); err != nil {
		return err
	}
	if e.skips, err = collect[audit.Skip](ctx, tx, allSkipsSQL); err != nil {
		return err
	}
	schedules, err := collect[owner](ctx, tx, schedulesSQL)
	for _, owner := range schedules {
		if t, ours := e.known[owner.Name]; ours {
			e.expected = append(e.expected, owner.owes(t, e.readAt)...)
		}
	}
	return err
}

func collect[T any](ctx context.Context, tx pgx.Tx, sql string) ([]T, error) {
	rows, err := tx.Query(ctx, sql)
	if err != nil {
		return nil, err
	}
	return pgx.CollectRows(rows, pgx.RowToStructByPos[T])
}

// An owner is a schedule since when it is known.
type owner struct {
	Name             string
	Since, ChangedAt time.Time
}

// owes lists its slots by the suite's own arithmetic, not by the code on trial.
func (o owner) owes(t traits, upTo time.Time) (slots []periodic.Slot) {
	list := func(period time.Duration, after, upTo time.Time) {
		for at := after.Truncate(period).Add(period); !at.After(upTo); at = at.Add(period) {
			slots = append(slots, periodic.Slot{Name: t.name, Key: at.UTC().Format(time.RFC3339), At: at.UTC()})
		}
	}
	since := o.Since
	if old := changed(firstVersion); t.name == old.name && o.ChangedAt.After(o.Since) {
		list(old.period, o.Since, o.ChangedAt)
		since = o.ChangedAt
	} else if t.name == old.name {
		t = old
	}
	list(t.period, since, upTo)
	return slots
}
