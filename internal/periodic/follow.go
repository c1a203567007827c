package periodic

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

const definitionsSQL = `
SELECT name, removed_at IS NOT NULL, ` + DefinitionColumns + `
FROM worker_schedules WHERE name = ANY ($1)`

// follow makes the timers go by the stored definitions: those of the newest
// replica, which may be another one. Whatever a timer misses meanwhile, the
// next pass enqueues.
func (c *CatchUp) follow(ctx context.Context) error {
	entries := make(map[string]Entry, len(c.Entries))
	names := make([]string, 0, len(c.Entries))
	for _, entry := range c.Entries {
		entries[entry.Schedule.Name] = entry
		names = append(names, entry.Schedule.Name)
	}
	rows, err := c.DB.Query(ctx, definitionsSQL, names)
	if err != nil {
		return fmt.Errorf("read definitions: %w", err)
	}
	var name string
	var removed bool
	var d Definition
	into := append([]any{&name, &removed}, d.Targets()...)
	_, err = pgx.ForEachRow(rows, into, func() error { return c.rearm(entries[name], d, removed) })
	if err != nil {
		return fmt.Errorf("follow definitions: %w", err)
	}
	return nil
}

// rearm replaces the timer of a schedule whose definition is not the one that
// the timer goes by.
func (c *CatchUp) rearm(entry Entry, d Definition, removed bool) error {
	name := entry.Schedule.Name
	followed, armed := c.followed[name]
	switch {
	case removed:
		delete(c.followed, name)
		c.Client.PeriodicJobs().RemoveByID(name)
		return nil
	case armed && followed.Definition == d:
		return nil
	}
	schedule, err := (&stored{Definition: d}).schedule(entry.Schedule)
	if err != nil {
		return err
	}
	entry.Schedule = schedule
	c.Client.PeriodicJobs().RemoveByID(name)
	c.Client.PeriodicJobs().Add(newJob(entry))
	c.followed[name] = schedule
	return nil
}
