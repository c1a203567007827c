package migrations_test

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"
)

// everyObject describes the schema in words that do not depend on object ids.
const everyObject = `
SELECT format('column %s.%s %s %s default %s', c.oid::regclass, a.attname, format_type(a.atttypid, a.atttypmod),
              CASE WHEN a.attnotnull THEN 'not null' ELSE 'null' END, pg_get_expr(d.adbin, d.adrelid))
FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid LEFT JOIN pg_attrdef d ON d.adrelid = c.oid AND d.adnum = a.attnum
WHERE c.relnamespace = 'public'::regnamespace AND a.attnum > 0 AND NOT a.attisdropped
UNION ALL
SELECT format('relation %s kind %s persistence %s comment %s', c.oid::regclass, c.relkind, c.relpersistence, obj_description(c.oid, 'pg_class'))
FROM pg_class c WHERE c.relnamespace = 'public'::regnamespace
UNION ALL
SELECT pg_get_indexdef(indexrelid) FROM pg_index JOIN pg_class c ON c.oid = indexrelid WHERE c.relnamespace = 'public'::regnamespace
UNION ALL
SELECT format('constraint %s on %s: %s', conname, conrelid::regclass, pg_get_constraintdef(oid))
FROM pg_constraint WHERE connamespace = 'public'::regnamespace
UNION ALL
SELECT pg_get_functiondef(oid) FROM pg_proc WHERE pronamespace = 'public'::regnamespace AND prokind IN ('f', 'p')
UNION ALL
SELECT pg_get_triggerdef(t.oid) FROM pg_trigger t JOIN pg_class c ON c.oid = tgrelid
WHERE c.relnamespace = 'public'::regnamespace AND NOT tgisinternal
UNION ALL
SELECT format('type %s: %s', t.oid::regtype, (SELECT string_agg(enumlabel, ',' ORDER BY enumsortorder) FROM pg_enum WHERE enumtypid = t.oid))
FROM pg_type t WHERE t.typnamespace = 'public'::regnamespace
ORDER BY 1`

func schemaOf(t *testing.T, pool *pgxpool.Pool) []string {
	t.Helper()
	rows, err := pool.Query(t.Context(), everyObject)
	require.NoError(t, err)
	objects, err := pgx.CollectRows(rows, pgx.RowTo[string])
	require.NoError(t, err)
	return objects
}
