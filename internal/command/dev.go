package command

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/spf13/cobra"

	"github.com/ranura/ranura/internal/community"
	"github.com/ranura/ranura/internal/community/demo"
	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/postgres"
	"github.com/ranura/ranura/internal/workers"
	"github.com/ranura/ranura/migrations"
)

func (a *app) dev() *cobra.Command {
	var once bool
	command := &cobra.Command{
		Use:   "dev",
		Short: "Run everything on this machine and replay the incident",
		Long: `Run everything on this machine: a private Postgres, migrations, a demo
community, three replicas as real processes. Then replay the incident: the slot
of last Friday 18:00 is triggered on all three replicas, at once and one after
the other, and the ledger shows who was paid, and how often.

DATABASE_URL, if it is set, names an empty database of yours to use instead.`,
		Example: `  app dev
  app dev --once`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return outcome(a.runDev(cmd.Context(), cmd.OutOrStdout(), once))
		},
	}
	command.Flags().BoolVar(&once, "once", false, "stop after the replay; exit 0 only if the ledger is exactly right")
	return command
}

func (a *app) runDev(ctx context.Context, out io.Writer, once bool) (err error) {
	url, end, err := devDatabase(ctx, out)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()

	db, err := postgres.OpenControl(ctx, url, "dev", commandConns)
	if err != nil {
		return err
	}
	defer db.Close()
	incident, err := a.prepareIncident(ctx, out, db)
	if err != nil {
		return err
	}

	replicas, err := startReplicas(ctx, out, url)
	if err != nil {
		return err
	}
	defer replicas.stop()
	if err := replicas.waitReady(ctx); err != nil {
		return err
	}

	shots := replicas.trigger(ctx, incident.slot)
	if err := incident.report(ctx, out, db, shots); err != nil || once {
		return err
	}
	fmt.Fprintln(out, "\nThree replicas are running. Jobs:", replicas[0].address+"/river/", " Stop: Ctrl-C")
	if os.Getenv("DATABASE_URL") == "" { // else it is theirs, and its password is worth something
		fmt.Fprintf(out, "For commands and applications beside them:\n  export DATABASE_URL='%s'\n", url)
	}
	<-ctx.Done()
	return nil
}

// devDatabase is a private server, or the one that DATABASE_URL names.
func devDatabase(ctx context.Context, out io.Writer) (url string, end func() error, err error) {
	if url := os.Getenv("DATABASE_URL"); url != "" {
		if err := postgres.CheckURL(url); err != nil {
			return "", nil, usage(fmt.Errorf("DATABASE_URL %w", err))
		}
		return url, func() error { return nil }, nil
	}
	done := progress(out, "private Postgres")
	server, err := postgres.Start(ctx)
	if err != nil {
		fmt.Fprintln(out)
		return "", nil, fmt.Errorf("%w; or set DATABASE_URL", err)
	}
	done("ready")
	return server.URL, server.Stop, nil
}

// progress names a step that takes a while, and how long it took.
func progress(out io.Writer, step string) (done func(result string)) {
	began := time.Now()
	fmt.Fprintf(out, "%-18s… ", step)
	return func(result string) {
		fmt.Fprintf(out, "%s (%s)\n", result, time.Since(began).Round(10*time.Millisecond))
	}
}

// incident is the slot that was paid three times, and who should be paid once.
type incident struct {
	slot     periodic.Slot
	zone     *time.Location
	expected []community.Place
}

// prepareIncident migrates the database and settles a community in it whose
// week ended last Friday at 18:00.
func (a *app) prepareIncident(ctx context.Context, out io.Writer, db *pgxpool.Pool) (incident, error) {
	done := progress(out, "migrations")
	applied, err := migrations.Up(ctx, db)
	if err != nil {
		return incident{}, err
	}
	done(fmt.Sprintf("%d applied", len(applied)))

	registry, err := a.registry()
	if err != nil {
		return incident{}, err
	}
	closing, err := registry.Find(workers.LeaderboardClose{}.Name())
	if err != nil {
		return incident{}, err
	}
	now, err := periodic.Now(ctx, db)
	if err != nil {
		return incident{}, err
	}
	zone, err := time.LoadLocation(closing.Zone)
	if err != nil {
		return incident{}, err
	}
	slot, _ := closing.Latest(now) // a weekly slot always has one before

	done = progress(out, "demo community")
	places, err := seed(ctx, db, slot.At.In(zone))
	if err != nil {
		return incident{}, err
	}
	done("ready")
	return incident{slot, zone, places}, nil
}

func seed(ctx context.Context, db *pgxpool.Pool, slot time.Time) ([]community.Place, error) {
	tx, err := db.Begin(ctx)
	if err != nil {
		return nil, fmt.Errorf("seed: %w", err)
	}
	defer func() { _ = tx.Rollback(ctx) }()
	places, err := demo.Seed(ctx, tx, slot)
	if errors.Is(err, demo.ErrNotEmpty) {
		return nil, usage(fmt.Errorf("DATABASE_URL: %w: app dev wants an empty database", err))
	}
	if err != nil {
		return nil, err
	}
	return places, tx.Commit(ctx)
}
