-- +goose Up

-- What the service can run, as its replicas register it at their start. It
-- stays when none is up: a job may be enqueued then, and waits.
CREATE TABLE worker_kinds (
    name    text PRIMARY KEY CHECK (name ~ '^[a-z0-9_.-]{1,100}$'),
    service text NOT NULL,
    queue   text NOT NULL CHECK (queue IN ('default', 'slots')) -- slots: the kind is a schedule
);

COMMENT ON TABLE worker_kinds IS 'The kinds of job that enqueue_job takes, and the queue of each.';

ALTER TABLE replicas ADD COLUMN kinds text[] NOT NULL DEFAULT '{}';

-- plpgsql checks its parameters before any table sees them: a CHECK that fails
-- would put the row, and so the secrets in args, into the server's log.
-- +goose StatementBegin
CREATE FUNCTION claim_run(name text, key text) RETURNS boolean
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
BEGIN
    IF claim_run.name IS NULL OR claim_run.name !~ '\S' OR char_length(claim_run.name) > 100 THEN
        RAISE 'claim_run: name must have 1 to 100 characters and not be blank' USING ERRCODE = 'invalid_parameter_value';
    ELSIF claim_run.key IS NULL OR claim_run.key !~ '\S' OR char_length(claim_run.key) > 200 THEN
        RAISE 'claim_run: key must have 1 to 200 characters and not be blank' USING ERRCODE = 'invalid_parameter_value';
    END IF;
    -- An acknowledged claim must survive a crash, whatever the session says.
    PERFORM set_config('synchronous_commit', 'on', true);
    INSERT INTO worker_runs (name, key, source) VALUES (claim_run.name, claim_run.key, 'sql')
    ON CONFLICT (name, key) DO NOTHING; -- never DO UPDATE, which tells everybody that the claim is theirs
    RETURN FOUND;
END
$$;
-- +goose StatementEnd

COMMENT ON FUNCTION claim_run IS
'Claims (name, key) in the caller''s transaction: true, do the work in this transaction; false, it is done, or decided against.
Call it first and outside any savepoint. It waits while another transaction holds the claim; above READ COMMITTED a lost claim is an error (40001).';

-- River's index holds a job's unique key while the job is there, in whatever
-- state; after that the claim stands for it. Both are asked before the insert,
-- which would wait for a worker that is just completing the job.
-- +goose StatementBegin
CREATE FUNCTION enqueue_job(
    kind text, args jsonb, dedupe_key text DEFAULT NULL, scheduled_at timestamptz DEFAULT NULL,
    queue text DEFAULT 'default', priority integer DEFAULT 1, max_attempts integer DEFAULT NULL
) RETURNS bigint
LANGUAGE plpgsql SECURITY DEFINER AS $$
#variable_conflict use_column
DECLARE
    home    text; -- the queue of the kind
    claim   text := dedupe_key;
    unique_ bytea;
    refusal text;
    job_id  bigint;
    waits   boolean := coalesce(enqueue_job.scheduled_at > clock_timestamp(), false);
BEGIN
    SELECT k.queue INTO home FROM worker_kinds k WHERE k.name = enqueue_job.kind;
    refusal := CASE
        WHEN home IS NULL THEN
            format('kind %s is not known: use the name of a worker that a replica has registered', coalesce(to_json(left(kind, 100))::text, 'null'))
        WHEN args IS NULL OR jsonb_typeof(args) <> 'object' THEN
            'args must be a JSON object'
        WHEN octet_length(args::text) > 65536 THEN
            'args must have at most 65536 bytes: enqueue a reference instead'
        WHEN dedupe_key !~ '\S' OR char_length(dedupe_key) > 200 THEN
            'dedupe_key must have 1 to 200 characters and not be blank, or be null'
        WHEN enqueue_job.scheduled_at > clock_timestamp() + interval '10 years' THEN
            'scheduled_at must be within ten years'
        WHEN enqueue_job.queue IS NULL OR enqueue_job.queue NOT IN (home, 'default') THEN
            format('queue must be that of the kind: %s', home)
        WHEN enqueue_job.priority IS NULL OR enqueue_job.priority NOT BETWEEN 1 AND 4 THEN
            'priority must be 1 (first) to 4'
        WHEN enqueue_job.max_attempts NOT BETWEEN 1 AND 10000 THEN
            'max_attempts must be 1 to 10000, or null'
        WHEN home = 'slots' AND (
            args - 'key' - 'slot' <> '{}' OR jsonb_typeof(args->'key') IS DISTINCT FROM 'string'
            OR args->>'key' !~ '\S' OR char_length(args->>'key') > 200
            OR jsonb_typeof(args->'slot') IS DISTINCT FROM 'string'
            OR args->>'slot' !~ '^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$') THEN
            'the kind is a schedule: args must be its {"key", "slot"} as "app next --json" prints them'
        WHEN home = 'slots' AND (dedupe_key <> args->>'key' OR enqueue_job.scheduled_at IS NOT NULL) THEN
            'the kind is a schedule: leave out dedupe_key and scheduled_at, the slot says both'
    END;
    IF refusal IS NOT NULL THEN
        RAISE 'enqueue_job: %', refusal USING ERRCODE = 'invalid_parameter_value';
    END IF;

    -- A slot's unique key is not the timer's: a job that pairs a key with the
    -- wrong slot is cancelled, and must not keep the timer's job out of the queue.
    IF home = 'slots' THEN
        claim := args->>'key';
        unique_ := sha256(convert_to('slot ' || kind || ' ' || (args->>'slot') || ' ' || claim, 'UTF8'));
    ELSE
        unique_ := sha256(convert_to('job ' || kind || ' ' || claim, 'UTF8')); -- null without a dedupe_key
    END IF;

    LOOP
        SELECT j.id INTO job_id FROM river_job j
        WHERE j.unique_key = unique_ AND j.unique_states IS NOT NULL
          AND river_job_state_in_bitmask(j.unique_states, j.state);
        IF FOUND THEN
            RETURN job_id;
        END IF;
        SELECT r.job_id INTO job_id FROM worker_runs r WHERE r.name = enqueue_job.kind AND r.key = claim;
        IF FOUND THEN
            RETURN job_id;
        END IF;
        INSERT INTO river_job (kind, args, queue, priority, max_attempts, state, scheduled_at, metadata, unique_key, unique_states)
        VALUES (enqueue_job.kind, enqueue_job.args, home, enqueue_job.priority, coalesce(enqueue_job.max_attempts, 10000),
                CASE WHEN waits THEN 'scheduled' ELSE 'available' END::river_job_state,
                CASE WHEN waits THEN enqueue_job.scheduled_at ELSE now() END,
                jsonb_strip_nulls(jsonb_build_object('dedupe_key', dedupe_key)),
                unique_, CASE WHEN unique_ IS NOT NULL THEN B'11111111' END) -- unique in every state
        ON CONFLICT (unique_key)
            WHERE unique_key IS NOT NULL AND unique_states IS NOT NULL AND river_job_state_in_bitmask(unique_states, state)
            DO NOTHING
        RETURNING id INTO job_id;
        IF FOUND THEN
            -- As River's client does it: at the commit, the workers of the queue hear of the job.
            PERFORM pg_notify(n.nspname || '.river_insert', json_build_object('queue', home)::text)
            FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace
            WHERE c.oid = 'river_job'::regclass AND NOT waits;
            RETURN job_id;
        END IF;
    END LOOP;
END
$$;
-- +goose StatementEnd

COMMENT ON FUNCTION enqueue_job IS
'Puts a job into the queue in the caller''s transaction and returns its id; the workers hear of it at the commit.
With a dedupe_key the job runs once: if it is there, or has run, the answer is the id of that job (null: the key was claimed without a job).';

-- They run as their owner, so that a caller needs no right on any table. No
-- object of the caller's may stand in for one of ours: its temporary ones come last.
-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION claim_run SET search_path = pg_catalog, %I, pg_temp', current_schema());
    EXECUTE format('ALTER FUNCTION enqueue_job SET search_path = pg_catalog, %I, pg_temp', current_schema());
END
$$;
-- +goose StatementEnd

REVOKE ALL ON FUNCTION claim_run, enqueue_job FROM PUBLIC;

-- +goose Down

DROP FUNCTION enqueue_job, claim_run;
ALTER TABLE replicas DROP COLUMN kinds;
DROP TABLE worker_kinds;
