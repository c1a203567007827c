package community

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/jackc/pgx/v5"
)

// ModeratorHandle is the handle of the moderator bot, which must be a bot.
const ModeratorHandle = "moderador"

// A thread that the moderator bot posts once per kind and period.
type thread struct {
	section, kind, period, title, body string
	at                                 time.Time
}

const postThreadSQL = `
INSERT INTO threads (section_id, author_id, kind, period, title, body, created_at)
VALUES ($1, $2, $3, $4, $5, $6, $7)
ON CONFLICT (kind, period) DO NOTHING`

// postThread is never best effort: without bot or section it is an error, so
// that the caller's payments roll back with it.
func postThread(ctx context.Context, tx pgx.Tx, t thread) error {
	author, err := moderator(ctx, tx)
	if err != nil {
		return fmt.Errorf("post thread: %w", err)
	}
	section, err := sectionID(ctx, tx, t.section)
	if err != nil {
		return fmt.Errorf("post thread: %w", err)
	}
	if _, err := tx.Exec(ctx, postThreadSQL, section, author, t.kind, t.period, t.title, t.body, t.at); err != nil {
		return fmt.Errorf("post thread: %w", err)
	}
	return nil
}

const moderatorSQL = `SELECT id FROM members WHERE handle = $1 AND is_bot`

func moderator(ctx context.Context, tx pgx.Tx) (int64, error) {
	var id int64
	err := tx.QueryRow(ctx, moderatorSQL, ModeratorHandle).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("moderator bot %w", ErrNotFound)
	}
	if err != nil {
		return 0, fmt.Errorf("find moderator bot: %w", err)
	}
	return id, nil
}

const sectionSQL = `SELECT id FROM sections WHERE name = $1`

func sectionID(ctx context.Context, tx pgx.Tx, name string) (int64, error) {
	var id int64
	err := tx.QueryRow(ctx, sectionSQL, name).Scan(&id)
	if errors.Is(err, pgx.ErrNoRows) {
		return 0, fmt.Errorf("section %q %w", name, ErrNotFound)
	}
	if err != nil {
		return 0, fmt.Errorf("find section %q: %w", name, err)
	}
	return id, nil
}
