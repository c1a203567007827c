package migrations

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
)

// State is one migration, as this binary and the database see it.
type State struct {
	Line      string    // River or Ranura
	Version   int       // from 1
	Name      string    // empty: this binary does not know it, the database is newer
	AppliedAt time.Time // UTC; zero: pending
}

// Status lists every migration of both lines, River's first, by version. It
// takes no lock and writes nothing; an empty database is all pending.
func Status(ctx context.Context, pool *pgxpool.Pool) ([]State, error) {
	states, err := known()
	if err != nil {
		return nil, fmt.Errorf("migration status: %w", err)
	}
	states = slices.Clone(states)
	for line, query := range map[string]string{River: riverVersions, Ranura: ourVersions} {
		rows, err := appliedVersions(ctx, pool, query)
		if err != nil {
			return nil, fmt.Errorf("migration status: %s line: %w", line, err)
		}
		for _, row := range rows {
			i := slices.IndexFunc(states, func(s State) bool { return s.Line == line && s.Version == row.Version })
			if i < 0 {
				states = append(states, State{Line: line, Version: row.Version})
				i = len(states) - 1
			}
			states[i].AppliedAt = row.AppliedAt.UTC()
		}
	}
	slices.SortFunc(states, func(a, b State) int {
		return cmp.Or(-cmp.Compare(a.Line, b.Line), cmp.Compare(a.Version, b.Version)) // "river" before "ranura"
	})
	return states, nil
}

const latestVersions = `
SELECT (SELECT coalesce(max(version), 0) FROM river_migration WHERE line = 'main'),
       (SELECT coalesce(max(version_id), 0) FROM ranura_migrations)`

// UpToDate says whether the database has every migration that this binary
// knows; a newer database has. It is one small query, cheap enough for a
// readiness probe, and false, not an error, on a database never migrated.
func UpToDate(ctx context.Context, pool *pgxpool.Pool) (bool, error) {
	states, err := known()
	if err != nil {
		return false, fmt.Errorf("migrations up to date: %w", err)
	}
	var river, ours int
	if err := pool.QueryRow(ctx, latestVersions).Scan(&river, &ours); err != nil {
		if neverMigrated(err) {
			return false, nil
		}
		return false, fmt.Errorf("migrations up to date: %w", err)
	}
	behind := slices.ContainsFunc(states, func(s State) bool {
		return s.Line == River && s.Version > river || s.Line == Ranura && s.Version > ours
	})
	return !behind, nil
}

const (
	riverVersions = `SELECT version, created_at FROM river_migration WHERE line = 'main'`
	ourVersions   = `SELECT version_id, tstamp::timestamptz FROM ranura_migrations WHERE version_id > 0`
)

type appliedVersion struct {
	Version   int
	AppliedAt time.Time
}

func appliedVersions(ctx context.Context, pool *pgxpool.Pool, query string) ([]appliedVersion, error) {
	rows, _ := pool.Query(ctx, query) // CollectRows returns its error
	versions, err := pgx.CollectRows(rows, pgx.RowToStructByPos[appliedVersion])
	if neverMigrated(err) {
		return nil, nil
	}
	return versions, err
}

// neverMigrated covers a river_migration from before River's version 5 too,
// which has no column line.
func neverMigrated(err error) bool {
	var pg *pgconn.PgError
	return errors.As(err, &pg) && (pg.Code == pgerrcode.UndefinedTable || pg.Code == pgerrcode.UndefinedColumn)
}

func refuseNewer(ctx context.Context, pool *pgxpool.Pool) error {
	states, err := Status(ctx, pool)
	if err != nil {
		return err
	}
	for _, s := range states {
		if s.Name == "" {
			return fmt.Errorf("database has %s version %d, which this binary does not know: use the newer binary", s.Line, s.Version)
		}
	}
	return nil
}
