package postgrestest

import (
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// stopClockSQL puts two functions before those of pg_catalog in the search path,
// and says "now()" again for every default that has said it.
const stopClockSQL = `
CREATE SCHEMA clock;
CREATE TABLE clock.hands (at timestamptz NOT NULL);
INSERT INTO clock.hands VALUES (now());
CREATE FUNCTION clock.now() RETURNS timestamptz STABLE LANGUAGE sql AS 'SELECT at FROM clock.hands';
CREATE FUNCTION clock.clock_timestamp() RETURNS timestamptz VOLATILE LANGUAGE sql AS 'SELECT at FROM clock.hands';
SET LOCAL search_path = public, clock, pg_catalog;
DO $$ DECLARE said record; BEGIN
    EXECUTE format('ALTER DATABASE %I SET search_path = public, clock, pg_catalog', current_database());
    FOR said IN SELECT adrelid::regclass AS relation, attname AS name
        FROM pg_attrdef JOIN pg_attribute ON attrelid = adrelid AND attnum = adnum
        WHERE pg_get_expr(adbin, adrelid) IN ('now()', 'pg_catalog.now()')
    LOOP
        EXECUTE format('ALTER TABLE %s ALTER %I SET DEFAULT now()', said.relation, said.name);
    END LOOP;
END $$`

// StopClock lets the database's clock stand at an instant; called again, it sets
// it to another one. It is the clock that decides what is due, so a test can live
// through a New Year. now() and clock_timestamp() tell it, on every connection
// that is opened from now on; those of the pool are opened again. Functions with
// a search path of their own, and what a Go process takes from its own clock,
// have the real time.
func StopClock(t testing.TB, db *pgxpool.Pool, at time.Time) {
	t.Helper()
	var stopped bool
	require.NoError(t, db.QueryRow(t.Context(), `SELECT to_regclass('clock.hands') IS NOT NULL`).Scan(&stopped))
	if !stopped {
		_, err := db.Exec(t.Context(), stopClockSQL)
		require.NoError(t, err)
		db.Reset()
	}
	_, err := db.Exec(t.Context(), `UPDATE clock.hands SET at = $1`, at)
	require.NoError(t, err)
}
