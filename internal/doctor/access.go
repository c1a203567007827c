package doctor

import (
	"context"
	"fmt"
	"strings"

	"github.com/ranura/ranura/internal/replica"
)

// privilegesSQL lists what the service does and the role may not; it is what
// deploy/grants.sql grants to ranura_runtime. What a migration has yet to make is
// left to that check.
const privilegesSQL = `
WITH needed (object, rights) AS (VALUES
    ('ranura_migrations', '{SELECT}'::text[]),
    ('replicas', '{SELECT,INSERT,UPDATE,DELETE}'),
    ('river_job', '{SELECT,INSERT,UPDATE,DELETE}'),
    ('river_leader', '{SELECT,INSERT,UPDATE,DELETE}'),
    ('river_migration', '{SELECT}'),
    ('river_queue', '{SELECT,INSERT,UPDATE,DELETE}'),
    ('slot_skips', '{SELECT,INSERT}'),
    ('worker_kinds', '{SELECT,INSERT,UPDATE,DELETE}'),
    ('worker_runs', '{SELECT,INSERT,UPDATE,DELETE}'),
    ('worker_schedules', '{SELECT,INSERT,UPDATE,DELETE}')
)
SELECT privilege || ' on ' || object FROM needed, unnest(rights) AS privilege
WHERE to_regclass(object) IS NOT NULL AND NOT has_table_privilege(to_regclass(object), privilege)
UNION ALL
SELECT 'USAGE on river_job_id_seq'
WHERE to_regclass('river_job_id_seq') IS NOT NULL AND NOT has_sequence_privilege(to_regclass('river_job_id_seq'), 'USAGE')
UNION ALL
SELECT 'EXECUTE on ' || proname FROM pg_proc
WHERE proname IN ('claim_run', 'enqueue_job') AND pg_function_is_visible(oid) AND NOT has_function_privilege(oid, 'EXECUTE')
ORDER BY 1`

func privileges(ctx context.Context, p Patient) (verdict, error) {
	lacking, err := texts(ctx, p, privilegesSQL)
	if err != nil {
		return verdict{}, err
	}
	if len(lacking) > 0 {
		return verdict{"the role lacks " + strings.Join(lacking, ", "), "run deploy/grants.sql as the owner, and make the role a member of ranura_runtime"}, nil
	}
	return verdict{found: "the role may do what the service does"}, nil
}

// connectionsSQL finds the smallest of the limits on the role's connections.
const connectionsSQL = `
SELECT name, bound FROM (
    SELECT 'the server', current_setting('max_connections')::int - current_setting('superuser_reserved_connections')::int
    UNION ALL SELECT 'the role', rolconnlimit FROM pg_roles WHERE rolname = current_user
    UNION ALL SELECT 'the database', datconnlimit FROM pg_database WHERE datname = current_database()
) AS limits (name, bound)
WHERE bound >= 0 ORDER BY bound LIMIT 1`

const livingSQL = `
SELECT greatest(1, count(*)) FROM replicas WHERE service = $1 AND last_seen_at > clock_timestamp() - $2::interval`

// connections are enough if every living replica can have all of its own. Too
// few look like a lost leadership: elections and fetches time out.
func connections(ctx context.Context, p Patient) (verdict, error) {
	var who string
	var bound, living int
	if err := p.DB.QueryRow(ctx, connectionsSQL).Scan(&who, &bound); err != nil {
		return verdict{}, err
	}
	if err := p.DB.QueryRow(ctx, livingSQL, p.Service, replica.GoneAfter).Scan(&living); err != nil {
		return verdict{}, err
	}
	found := fmt.Sprintf("a replica may use %d, %d live, %s allows %d", replica.Connections, living, who, bound)
	if needed := living * replica.Connections; needed > bound {
		return verdict{found, fmt.Sprintf("allow %d or more (max_connections, CONNECTION LIMIT), or run fewer replicas", needed)}, nil
	}
	return verdict{found: found}, nil
}
