// Package migrations brings a database to the schema that this binary needs:
// River's migrations first, then ours (the embedded NNN_name.sql files), both
// under one lock, so that any number of replicas may start at once on one
// database, an empty one included.
//
// The schema is the first of the connection's search_path. The pool that is
// passed in only says how to connect: the work runs on connections of its own,
// which must reach Postgres directly or through a pooler in session mode.
package migrations

import (
	"context"
	"embed"
	"fmt"
	"log/slog"
	"path"
	"slices"
	"strings"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/jackc/pgx/v5/stdlib"
	"github.com/pressly/goose/v3"
	"github.com/riverqueue/river/riverdriver/riverpgxv5"
	"github.com/riverqueue/river/rivermigrate"
)

// The two lines of migrations. Each counts its versions from 1, without gaps.
const (
	River  = "river"
	Ranura = "ranura"
)

//go:embed *.sql
var files embed.FS

// Applied is one migration that Up applied or Down reverted.
type Applied struct {
	Line    string // River or Ranura
	Version int
	Name    string
	Took    time.Duration
}

// Up applies what is missing, each migration in a transaction of its own, and
// returns what it applied: nothing if the schema is up to date. It waits at
// most 60 s for another process that migrates the same database, then returns
// an error that is [ErrLocked].
//
// A database newer than this binary is left as it is and is no error: in a
// rolling deploy an old replica may still restart after a new one migrated. On
// an error, migrations that are already applied stay applied; call Up again.
func Up(ctx context.Context, pool *pgxpool.Pool) ([]Applied, error) {
	var applied []Applied
	err := underLock(ctx, pool, func(own *pgxpool.Pool) error {
		river, err := migrateRiver(ctx, own, rivermigrate.DirectionUp)
		if err != nil {
			return err
		}
		ours, err := migrateOurs(ctx, own, (*goose.Provider).Up)
		applied = slices.Concat(river, ours)
		return err
	})
	if err != nil {
		return applied, fmt.Errorf("migrate up: %w", err)
	}
	return applied, nil
}

const dropVersions = `DROP TABLE IF EXISTS ranura_migrations`

// Down reverts everything, ours first and then River's, and with it deletes
// all claims and jobs; nothing of either line remains. It takes the same lock
// as [Up]. It refuses a database that is newer than this binary, because only
// the newer one knows how to revert what it added.
func Down(ctx context.Context, pool *pgxpool.Pool) ([]Applied, error) {
	var reverted []Applied
	err := underLock(ctx, pool, func(own *pgxpool.Pool) error {
		if err := refuseNewer(ctx, own); err != nil {
			return err
		}
		ours, err := migrateOurs(ctx, own, func(p *goose.Provider, ctx context.Context) ([]*goose.MigrationResult, error) {
			return p.DownTo(ctx, 0)
		})
		if err != nil {
			return err
		}
		if _, err := own.Exec(ctx, dropVersions); err != nil {
			return fmt.Errorf("drop version table: %w", err)
		}
		river, err := migrateRiver(ctx, own, rivermigrate.DirectionDown)
		reverted = slices.Concat(ours, river)
		return err
	})
	if err != nil {
		return reverted, fmt.Errorf("migrate down: %w", err)
	}
	return reverted, nil
}

func migrateOurs(
	ctx context.Context, pool *pgxpool.Pool,
	run func(*goose.Provider, context.Context) ([]*goose.MigrationResult, error),
) ([]Applied, error) {
	db := stdlib.OpenDBFromPool(pool)
	defer db.Close()
	provider, err := goose.NewProvider(goose.DialectPostgres, db, files,
		goose.WithTableName("ranura_migrations"),
		goose.WithDisableGlobalRegistry(true),
		goose.WithLogger(goose.NopLogger()))
	if err != nil {
		return nil, fmt.Errorf("%s line: %w", Ranura, err)
	}
	results, err := run(provider, ctx)
	if err != nil {
		return nil, fmt.Errorf("%s line: %w", Ranura, err)
	}
	applied := make([]Applied, len(results))
	for i, r := range results {
		applied[i] = Applied{Ranura, int(r.Source.Version), fileName(r.Source.Path), r.Duration}
	}
	return applied, nil
}

func migrateRiver(ctx context.Context, pool *pgxpool.Pool, direction rivermigrate.Direction) ([]Applied, error) {
	migrator, err := riverMigrator(pool)
	if err != nil {
		return nil, err
	}
	var opts rivermigrate.MigrateOpts
	if direction == rivermigrate.DirectionDown {
		opts.TargetVersion = -1 // all of it; River's default is one step
	}
	result, err := migrator.Migrate(ctx, direction, &opts)
	if err != nil {
		return nil, fmt.Errorf("%s line: %w", River, err)
	}
	applied := make([]Applied, len(result.Versions))
	for i, v := range result.Versions {
		applied[i] = Applied{River, v.Version, v.Name, v.Duration}
	}
	return applied, nil
}

// riverMigrator is quiet: the caller gets what was applied and logs it once.
// A nil pool is enough to list what River knows.
func riverMigrator(pool *pgxpool.Pool) (*rivermigrate.Migrator[pgx.Tx], error) {
	migrator, err := rivermigrate.New(riverpgxv5.New(pool), &rivermigrate.Config{Logger: slog.New(slog.DiscardHandler)})
	if err != nil {
		return nil, fmt.Errorf("%s line: %w", River, err)
	}
	return migrator, nil
}

// fileName turns "001_runs.sql" into "runs".
func fileName(file string) string {
	_, name, _ := strings.Cut(strings.TrimSuffix(path.Base(file), ".sql"), "_")
	return name
}
