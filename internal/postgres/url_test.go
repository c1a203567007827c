package postgres_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres"
)

// K3: each of these was once taken silently for something else, or printed a password.
func TestCheckURL(t *testing.T) {
	t.Parallel()
	const notEncoded = "has a password that is not encoded: write @ as %40, / as %2F, ? as %3F, % as %25"
	const form = "postgres://user:password@host:5432/database"
	for url, want := range map[string]string{
		"":                                          "is empty: set it to " + form,
		" \n":                                       "is empty: set it to " + form,
		"postgres://u:secret@h/d\n":                 "begins or ends with a space or a line break: remove it",
		" postgres://u:secret@h/d":                  "begins or ends with a space or a line break: remove it",
		`"postgres://u:secret@h/d"`:                 "begins with a quote: remove the quotes around it",
		`'postgres://u:secret@h/d'`:                 "begins with a quote: remove the quotes around it",
		"postgresql+asyncpg://u:secret@h/d":         `begins with an SQLAlchemy driver: write postgresql:// without the "+" and what follows it`,
		"mysql://u:secret@h/d":                      "is not a PostgreSQL URL: write " + form,
		"u:secret@h:5432":                           "is not a PostgreSQL URL: write " + form,
		"postgres://u:sec@ret@h/d":                  notEncoded,
		"postgres://u:sec/ret@h/d":                  notEncoded,
		"postgres://u:5/secret@h/d":                 notEncoded,
		"postgres://u:1/?connect_timeout=secret@h/": notEncoded,
		"postgres://u:sec%ret@h/d":                  "cannot be read: invalid percent-encoded token in password; write " + form,
		"postgres://u:sec ret@h/d":                  "cannot be read: unexpected spaces found in password, use percent-encoded spaces (%20) instead; write " + form,
		"postgres://u:secret@h:70000/d":             "has an invalid host, port or parameter: write " + form,
		"postgres://u:secret@h/d?sslmode=bogus":     "cannot be read: sslmode is invalid; write " + form,

		"postgres://u:p%23ss@h/d":                      "",
		"postgres://u:p#ss@h/d":                        "",
		"postgres://u:p%40ss@h/d":                      "",
		"postgres://u@h1,h2:5433/d":                    "",
		"postgresql://u@h/d?application_name=a@b":      "",
		"host=h user=u password='se://c r@t' dbname=d": "",
	} {
		t.Run(url, func(t *testing.T) {
			t.Parallel()
			err := postgres.CheckURL(url)
			if want == "" {
				require.NoError(t, err)
				return
			}
			require.EqualError(t, err, want)
			require.NotContains(t, err.Error(), "secret")
		})
	}
}
