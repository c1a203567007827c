package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgxpool"
)

const urlForm = "postgres://user:password@host:5432/database"

// CheckURL says what is wrong with a connection URL (or a keyword/value string),
// without connecting. The error is one line, holds no part of the password, and
// does not name the variable: the caller knows it.
func CheckURL(raw string) error {
	_, err := parseURL(raw)
	return err
}

// parseURL refuses what pgx would take silently and in another sense: an empty
// string is the local socket as the operating system's user, "p@ss@host" is a
// host named "ss@host", and a line break becomes part of the database's name.
func parseURL(raw string) (*pgxpool.Config, error) {
	scheme, rest, isURL := strings.Cut(raw, "://")
	isURL = isURL && !strings.ContainsAny(scheme, "= ") // else "://" is inside a keyword's value
	switch {
	case strings.TrimSpace(raw) == "":
		return nil, errors.New("is empty: set it to " + urlForm)
	case raw != strings.TrimSpace(raw):
		return nil, errors.New("begins or ends with a space or a line break: remove it")
	case strings.ContainsAny(raw[:1], "\"'`"):
		return nil, errors.New("begins with a quote: remove the quotes around it")
	case isURL && strings.HasPrefix(scheme, "postgres") && strings.Contains(scheme, "+"):
		return nil, errors.New(`begins with an SQLAlchemy driver: write postgresql:// without the "+" and what follows it`)
	case isURL && scheme != "postgres" && scheme != "postgresql", !isURL && !strings.Contains(raw, "="):
		return nil, errors.New("is not a PostgreSQL URL: write " + urlForm)
	}
	config, err := pgxpool.ParseConfig(raw)
	if isURL && misplacedAt(rest) && (err != nil || strings.Contains(config.ConnConfig.Host+config.ConnConfig.Database, "@")) {
		return nil, errors.New("has a password that is not encoded: write @ as %40, / as %2F, ? as %3F, % as %25")
	}
	if err != nil {
		return nil, parseError(err)
	}
	return config, nil
}

// misplacedAt finds an @ where none belongs: a second one before the path, or
// one behind it. Then nobody can tell what of the text is the password.
func misplacedAt(rest string) bool {
	authority := rest
	if end := strings.IndexAny(rest, "/?"); end >= 0 {
		authority = rest[:end]
	}
	return strings.Count(authority, "@") > 1 || strings.Contains(rest[len(authority):], "@")
}

// parseError keeps only pgx's reason: the rest of its message quotes the URL.
func parseError(err error) error {
	reason := errors.Unwrap(err)
	if reason == nil {
		return errors.New("has an invalid host, port or parameter: write " + urlForm)
	}
	return fmt.Errorf("cannot be read: %w; write %s", reason, urlForm)
}
