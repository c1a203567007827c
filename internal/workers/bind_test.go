package workers

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// TestBind: a name is a parameter where the server would read an expression, and
// text everywhere else. The server itself says whether what came out is right.
func TestBind(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	slot := periodic.Slot{Name: "s", Key: "2026-W22", At: time.Date(2026, 5, 30, 0, 0, 0, 0, time.UTC)}
	for statement, want := range map[string]string{
		`SELECT $key`:                                                       "2026-W22",
		`SELECT $key||$key`:                                                 "2026-W222026-W22",
		`SELECT to_char($slot, 'YYYY')||$key`:                               "20262026-W22",
		`SELECT extract(year FROM $slot)::text`:                             "2026",
		`SELECT '$key'`:                                                     "$key",
		`SELECT 'it''s $key'`:                                               "it's $key",
		`SELECT E'\'$key'`:                                                  "'$key",
		`SELECT e'\\' || $key`:                                              `\2026-W22`,
		`SELECT U&'\0024key'`:                                               "$key",
		`SELECT $$ $key $$`:                                                 " $key ",
		`SELECT $key$ $slot $$ $key$`:                                       " $slot $$ ",
		`SELECT $a$ $key $b$ $a$ || $key`:                                   " $key $b$ 2026-W22",
		"SELECT $key -- $slot\n || '!'":                                     "2026-W22!",
		`SELECT /* $slot /* $key */ $slot */ $key`:                          "2026-W22",
		`SELECT a$key FROM (VALUES ('x')) AS t(a$key)`:                      "x",
		`SELECT "$key" FROM (VALUES ('x')) t("$key")`:                       "x",
		`SELECT "a""$key" FROM (VALUES ('x')) t("a""$key")`:                 "x",
		`SELECT ñ$key FROM (VALUES ('x')) AS t(ñ$key)`:                      "x",
		`SELECT date '2026-05-30' = $slot::date || ''`:                      "",
		`SELECT (ARRAY[$key])[1]`:                                           "2026-W22",
		`SELECT x.key FROM json_to_record('{"key":"$key"}') AS x(key text)`: "$key",
	} {
		t.Run(statement, func(t *testing.T) {
			t.Parallel()
			sql, args, err := bind(statement, slot)
			require.NoError(t, err)
			var got string
			err = db.QueryRow(t.Context(), sql, args...).Scan(&got)
			if want == "" {
				require.Error(t, err, "no SQL stays no SQL")
				return
			}
			require.NoError(t, err, sql)
			require.Equal(t, want, got)
		})
	}
	for statement, want := range map[string]string{
		``:                   "sql: there is no statement",
		" ;\n-- $slot":       "sql: there is no statement",
		`/* /* */ SELECT 1`:  "sql: there is no statement",
		`SELECT $1`:          "sql: parameter $1: there are $slot and $key",
		`SELECT $Slot`:       "sql: parameter $Slot: there are $slot and $key",
		`SELECT $slots`:      "sql: parameter $slots: there are $slot and $key",
		`SELECT 'a' || $now`: "sql: parameter $now: there are $slot and $key",
	} {
		_, _, err := bind(statement, slot)
		require.EqualError(t, err, want, statement)
	}
}

func FuzzBind(f *testing.F) {
	f.Add(`SELECT $slot, '$key', $a$ $key $a$ -- $x`)
	f.Fuzz(func(t *testing.T, statement string) {
		sql, args, err := bind(statement, periodic.Slot{})
		if err == nil && len(args) == 0 {
			require.Equal(t, statement, sql, "what has no parameter stays as it is")
		}
	})
}
