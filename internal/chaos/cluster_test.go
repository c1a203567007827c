package chaos

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"strings"
	"syscall"

	"github.com/jackc/pgx/v5/pgxpool"

	"github.com/ranura/ranura/internal/postgres"
)

// cluster is what the faults have to play with.
type cluster struct {
	server   *postgres.Server // durable: its crash must lose nothing that was acknowledged
	db       *pgxpool.Pool    // the suite's own way in, past the proxies
	replicas []*replica
	folder   string
	program  string
	skewed   string // the program with another clock; "" if it could not be built
	excused  excuses
}

// suiteSession marks the suite's own sessions, which faults leave alone.
const suiteSession = "chaos suite"

// newCluster starts three replicas of a program, whose histories go to folder.
func newCluster(ctx context.Context, folder, program string) (_ *cluster, err error) {
	c := &cluster{folder: folder, program: program}
	if c.server, err = postgres.Start(ctx, "max_connections=200", "deadlock_timeout=500ms", "log_min_messages=fatal"); err != nil {
		return nil, err
	}
	config, err := pgxpool.ParseConfig(c.server.URL)
	if err != nil {
		return nil, errors.Join(err, c.server.Stop())
	}
	config.MaxConns = 10
	config.ConnConfig.RuntimeParams["application_name"] = suiteSession
	config.ConnConfig.RuntimeParams["default_transaction_read_only"] = "off"
	if c.db, err = pgxpool.NewWithConfig(ctx, config); err != nil {
		return nil, errors.Join(err, c.server.Stop())
	}
	if err := c.migrate(ctx); err != nil {
		return nil, errors.Join(err, c.close())
	}
	if _, err := c.db.Exec(ctx, tablesSQL); err != nil {
		return nil, errors.Join(err, c.close())
	}
	for _, name := range []string{"A", "B", "C"} {
		r, err := newReplica(name, c.server.URL, folder, program)
		if err != nil {
			return nil, errors.Join(err, c.close())
		}
		c.replicas = append(c.replicas, r)
		if err := r.start(); err != nil {
			return nil, errors.Join(err, c.close())
		}
	}
	return c, nil
}

// migrate leaves the schema to the program on trial: it may have a mistake there.
func (c *cluster) migrate(ctx context.Context) error {
	migrate := exec.CommandContext(ctx, c.program, "migrate", "up")
	migrate.Env = append(os.Environ(), asApp+"=1", "DATABASE_URL="+c.server.URL)
	if out, err := migrate.CombinedOutput(); err != nil {
		return fmt.Errorf("migrate: %w: %s", err, out)
	}
	return nil
}

func (c *cluster) close() error {
	var failed error
	for _, r := range c.replicas {
		r.proxy.heal()
		if r.process != nil && r.isRunning() {
			failed = errors.Join(failed, r.signal(syscall.SIGCONT), r.kill())
		}
		r.proxy.close()
	}
	c.db.Close()
	return errors.Join(failed, c.server.Stop())
}

// errBusy means that another fault has what this one needs.
var errBusy = errors.New("busy")

// hold takes a free replica in hand.
func (c *cluster) hold(dice *rand.Rand) (*replica, error) {
	for _, i := range dice.Perm(len(c.replicas)) {
		if c.replicas[i].mu.TryLock() {
			return c.replicas[i], nil
		}
	}
	return nil, errBusy
}

// holdAll takes all replicas, or none.
func (c *cluster) holdAll() ([]*replica, error) {
	for i, r := range c.replicas {
		if !r.mu.TryLock() {
			release(c.replicas[:i])
			return nil, errBusy
		}
	}
	return c.replicas, nil
}

func release(replicas []*replica) {
	for _, r := range replicas {
		r.mu.Unlock()
	}
}

const leaderSQL = `SELECT leader_id FROM river_leader`

// holdLeader takes the replica that River's leader lives in.
func (c *cluster) holdLeader(ctx context.Context) (*replica, error) {
	var id string
	if err := c.db.QueryRow(ctx, leaderSQL).Scan(&id); err != nil {
		return nil, fmt.Errorf("%w: no leader: %w", errBusy, err)
	}
	for _, r := range c.replicas {
		if strings.HasPrefix(id, r.name+"-") && r.mu.TryLock() {
			return r, nil
		}
	}
	return nil, errBusy
}
