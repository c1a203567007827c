package postgrestest

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"os"
	"sync"
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres"
	"github.com/ranura/ranura/migrations"
)

// server is where the databases of this test binary live.
type server struct {
	url     *url.URL
	lasting bool             // somebody else's server: it outlives the tests
	private *postgres.Server // kept reachable: collected as garbage, its pipe would close and the server end

	mu    sync.Mutex
	ready string // the template's name once it is made
}

// throwaway settings make a server fast whose data nobody needs after a crash
// of the machine. synchronous_commit stays on: claims depend on it and check it.
var throwaway = []string{"fsync=off", "full_page_writes=off", "max_connections=500"}

var startServer = sync.OnceValues(func() (*server, error) {
	s := &server{lasting: true}
	address := os.Getenv("TEST_DATABASE_URL")
	if address == "" {
		private, err := postgres.Start(context.Background(), throwaway...)
		if err != nil {
			return nil, fmt.Errorf("%w; or set TEST_DATABASE_URL", err)
		}
		s.private, s.lasting, address = private, false, private.URL
	}
	if err := postgres.CheckURL(address); err != nil {
		return nil, fmt.Errorf("TEST_DATABASE_URL: %w", err)
	}
	var err error
	if s.url, err = url.Parse(address); err != nil || s.url.Scheme == "" {
		return nil, errors.New("TEST_DATABASE_URL: must be a URL, postgres://user:password@host:5432/database")
	}
	return s, nil
})

func sharedServer(t testing.TB) *server {
	t.Helper()
	s, err := startServer()
	require.NoError(t, err)
	return s
}

func (s *server) urlOf(database string) string {
	u := *s.url
	u.Path = "/" + database
	return u.String()
}

// template makes the template for the first test that asks. A failure is not
// kept: it may only mean that this one test was over.
func (s *server) template(ctx context.Context) (string, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.ready != "" {
		return s.ready, nil
	}
	name, err := s.makeTemplate(ctx)
	if err != nil {
		return "", fmt.Errorf("make template database: %w", err)
	}
	s.ready = name
	return name, nil
}

const (
	lockTemplate  = `SELECT pg_advisory_lock(hashtext($1))`
	templateReady = `SELECT EXISTS (SELECT FROM pg_database WHERE datname = $1)`
)

// makeTemplate migrates the template of this schema once, however many packages
// ask at the same time. It gets its final name last, so a template that a
// killed test left half-made is never cloned.
func (s *server) makeTemplate(ctx context.Context) (string, error) {
	fingerprint, err := migrations.Fingerprint()
	if err != nil {
		return "", err
	}
	name := "ranura_template_" + fingerprint[:16]
	building := name + "_building"
	conn, err := pgx.Connect(ctx, s.url.String())
	if err != nil {
		return "", err
	}
	defer conn.Close(context.WithoutCancel(ctx)) // releases the lock
	if _, err := conn.Exec(ctx, lockTemplate, name); err != nil {
		return "", fmt.Errorf("lock: %w", err)
	}
	var ready bool
	if err := conn.QueryRow(ctx, templateReady, name).Scan(&ready); err != nil || ready {
		return name, err
	}
	if err := s.drop(ctx, building); err != nil {
		return "", err
	}
	if err := s.create(ctx, building, "template0"); err != nil {
		return "", err
	}
	if err := s.migrate(ctx, building); err != nil {
		return "", err
	}
	_, err = conn.Exec(ctx, fmt.Sprintf(`ALTER DATABASE %s RENAME TO %s`, quote(building), quote(name)))
	return name, err
}

func (s *server) migrate(ctx context.Context, database string) error {
	pool, err := pgxpool.New(ctx, s.urlOf(database))
	if err != nil {
		return err
	}
	defer pool.Close()
	_, err = migrations.Up(ctx, pool)
	return err
}

// create and drop quote the names themselves: these statements take no parameters.

func (s *server) create(ctx context.Context, name, template string) error {
	return s.exec(ctx, fmt.Sprintf(`CREATE DATABASE %s TEMPLATE %s`, quote(name), quote(template)))
}

func (s *server) drop(ctx context.Context, name string) error {
	return s.exec(ctx, fmt.Sprintf(`DROP DATABASE IF EXISTS %s WITH (FORCE)`, quote(name)))
}

func (s *server) exec(ctx context.Context, sql string) error {
	conn, err := pgx.Connect(ctx, s.url.String())
	if err != nil {
		return err
	}
	defer conn.Close(context.WithoutCancel(ctx))
	_, err = conn.Exec(ctx, sql)
	return err
}

func quote(name string) string { return pgx.Identifier{name}.Sanitize() }
