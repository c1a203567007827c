package migrations_test

import (
	"strings"
	"testing"

	"github.com/jackc/pgerrcode"
	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

func TestEnqueueJobRefuses(t *testing.T) {
	t.Parallel()
	db := newKinds(t)
	slot := `the kind is a schedule: args must be its {"key", "slot"} as "app next --json" prints them`
	for call, want := range map[string]string{
		`NULL, '{}'`:              `kind null is not known: use the name of a worker that a replica has registered`,
		`'welcom', '{}'`:          `kind "welcom" is not known: use the name of a worker that a replica has registered`,
		`E'a\n"', '{}'`:           `kind "a\n\"" is not known: use the name of a worker that a replica has registered`,
		`'welcome', NULL`:         `args must be a JSON object`,
		`'welcome', 'null'`:       `args must be a JSON object`,
		`'welcome', '"s3cret"'`:   `args must be a JSON object`,
		`'welcome', '["s3cret"]'`: `args must be a JSON object`,
		`'welcome', '{}', ''`:     `dedupe_key must have 1 to 200 characters and not be blank, or be null`,
		`'welcome', '{}', E' \t'`: `dedupe_key must have 1 to 200 characters and not be blank, or be null`,
		`'welcome', '{}', '` + strings.Repeat("🎉", 201) + `'`:                                   `dedupe_key must have 1 to 200 characters and not be blank, or be null`,
		`'welcome', jsonb_build_object('a', repeat('s3cret', 11000))`:                           `args must have at most 65536 bytes: enqueue a reference instead`,
		`'welcome', '{"a": 1e70000}'`:                                                           `args must have at most 65536 bytes: enqueue a reference instead`,
		`'welcome', '{}', scheduled_at => 'infinity'`:                                           `scheduled_at must be within ten years`,
		`'welcome', '{}', queue => 'slots'`:                                                     `queue must be that of the kind: default`,
		`'welcome', '{}', queue => ''`:                                                          `queue must be that of the kind: default`,
		`'welcome', '{}', queue => NULL`:                                                        `queue must be that of the kind: default`,
		`'close', '{}', queue => 'fast'`:                                                        `queue must be that of the kind: slots`,
		`'welcome', '{}', priority => 0`:                                                        `priority must be 1 (first) to 4`,
		`'welcome', '{}', priority => 5`:                                                        `priority must be 1 (first) to 4`,
		`'welcome', '{}', priority => NULL`:                                                     `priority must be 1 (first) to 4`,
		`'welcome', '{}', max_attempts => 0`:                                                    `max_attempts must be 1 to 10000, or null`,
		`'welcome', '{}', max_attempts => 10001`:                                                `max_attempts must be 1 to 10000, or null`,
		`'close', '{}'`:                                                                         slot,
		`'close', '{"key": "2026-W22"}'`:                                                        slot,
		`'close', '{"key": "", "slot": "2026-05-30T00:00:00Z"}'`:                                slot,
		`'close', '{"key": 1, "slot": "2026-05-30T00:00:00Z"}'`:                                 slot,
		`'close', '{"key": "2026-W22", "slot": "2026-05-29T18:00:00-06:00"}'`:                   slot,
		`'close', '{"key": "2026-W22", "slot": "2026-05-30T00:00:00Z", "more": true}'`:          slot,
		`'close', '{"key": "2026-W22", "slot": "2026-05-30T00:00:00Z"}', 'else'`:                `the kind is a schedule: leave out dedupe_key and scheduled_at, the slot says both`,
		`'close', '{"key": "2026-W22", "slot": "2026-05-30T00:00:00Z"}', scheduled_at => now()`: `the kind is a schedule: leave out dedupe_key and scheduled_at, the slot says both`,
	} {
		refused := refusal(t, db, `SELECT enqueue_job(`+call+`)`)
		require.Equal(t, "enqueue_job: "+want, refused.Message, call)
		require.Equal(t, pgerrcode.InvalidParameterValue, refused.Code, call)
		require.NotContains(t, refused.Detail+refused.Hint+refused.Where, "s3cret", call)
	}
	require.Zero(t, count(t, db, `SELECT count(*) FROM river_job`))

	// I4: Postgres itself lets no such text into jsonb.
	require.Equal(t, pgerrcode.UntranslatableCharacter, refusal(t, db, `SELECT enqueue_job('welcome', '{"a": "\u0000"}')`).Code)
	require.Equal(t, pgerrcode.InvalidTextRepresentation, refusal(t, db, `SELECT enqueue_job('welcome', '{"a": "\ud83d"}')`).Code)
}

func refusal(t *testing.T, db *pgxpool.Pool, query string) *pgconn.PgError {
	t.Helper()
	_, err := db.Exec(t.Context(), query, pgx.QueryExecModeExec)
	var refused *pgconn.PgError
	require.ErrorAs(t, err, &refused, query)
	return refused
}
