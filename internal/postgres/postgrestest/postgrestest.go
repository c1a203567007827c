// Package postgrestest gives each test a Postgres database of its own, on a
// real server.
//
// The server is a private one that starts with the first database a test
// binary asks for and ends with the binary, however that ends; no TestMain is
// needed. With TEST_DATABASE_URL set (the URL of a role that may create
// databases) it is that server instead, shared by all packages, and then the
// database of a failed test is kept.
package postgrestest

import (
	"context"
	"crypto/rand"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// New returns a pool on a fresh database with the current schema, cloned from
// a migrated template. The database is dropped when t ends.
//
// Its URL, for a process or a pool of the test's own, is
// pool.Config().ConnString(); it holds a password, so do not print it.
func New(t testing.TB) *pgxpool.Pool {
	t.Helper()
	server := sharedServer(t)
	template, err := server.template(t.Context())
	require.NoError(t, err)
	return server.database(t, template)
}

// NewEmpty is [New] without a schema, for tests of migrations.
func NewEmpty(t testing.TB) *pgxpool.Pool {
	t.Helper()
	return sharedServer(t).database(t, "template0")
}

const (
	maxConns     = 16               // more than pgx's default of 4, so that a test may hold some while others work
	closeTimeout = 10 * time.Second // a pool closes in milliseconds unless a connection was never released
)

func (s *server) database(t testing.TB, template string) *pgxpool.Pool {
	t.Helper()
	name := "test_" + strings.ToLower(rand.Text())
	require.NoError(t, s.create(t.Context(), name, template))

	config, err := pgxpool.ParseConfig(s.urlOf(name))
	require.NoError(t, err)
	config.MaxConns = maxConns
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(func() {
		closePool(t, pool)
		if t.Failed() {
			t.Log(s.failureHint(config.ConnConfig))
			if s.lasting {
				return
			}
		}
		// t.Context is over by now.
		if err := s.drop(context.Background(), name); err != nil {
			t.Errorf("drop database: %v", err)
		}
	})
	return pool
}

// closePool turns a connection that was never released into a failure; without
// it the whole test binary would hang until its timeout.
func closePool(t testing.TB, pool *pgxpool.Pool) {
	t.Helper()
	closed := make(chan struct{})
	go func() { pool.Close(); close(closed) }()
	select {
	case <-closed:
	case <-time.After(closeTimeout):
		t.Errorf("%d connection(s) of the test's pool were never released: a transaction or rows left open?",
			pool.Stat().AcquiredConns())
	}
}

// failureHint says how to look at what a failed test left behind.
func (s *server) failureHint(c *pgx.ConnConfig) string {
	if s.lasting {
		return fmt.Sprintf("database kept: psql -h %s -p %d -U %s -d %s", c.Host, c.Port, c.User, c.Database)
	}
	return "set TEST_DATABASE_URL to a server of yours to keep the database of a failed test"
}
