// Package community is the domain: members, sections, threads and replies,
// activity and its points, wallets and their ledger, notifications, squads.
//
// It knows no jobs and reads no clock: every function is given the period that
// it works for and the instants that bound it, so it answers the same however
// late it is called. Functions that write take a [pgx.Tx], leave its end to
// the caller, and leave nothing useful behind when they return an error: roll
// back. Repeating one for the same period writes only what is missing. All may
// be called concurrently, each with its own transaction.
package community

import (
	"context"
	"errors"
	"time"

	"github.com/jackc/pgx/v5"
)

// ErrNotFound is wrapped by errors that name the missing row.
var ErrNotFound = errors.New("not found")

// DB is what readers need: a pool, a connection or a transaction.
type DB interface {
	Query(ctx context.Context, sql string, args ...any) (pgx.Rows, error)
	QueryRow(ctx context.Context, sql string, args ...any) pgx.Row
}

// A Week is the half-open span [From, To) and the period that it is booked
// under. Dates shown to members are the ones of To in its own location.
type Week struct {
	Period string // the second part of every unique key, "2026-W22"
	From   time.Time
	To     time.Time
}
