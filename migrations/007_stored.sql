-- +goose Up

-- A stored schedule is one that no code has: whoever may write this table adds
-- it, and it says itself what it runs. A short INSERT is enough: name, cron,
-- zone, and one of sql_statement, enqueue_kind and http_endpoint with its own.
--
-- SQL cannot read a cron expression. So a new or changed row is due at once
-- (next_slot), and the replica that takes it adopts it, or refuses it and says
-- why in note; then nobody looks at it again until it is changed.
ALTER TABLE worker_schedules
    ALTER COLUMN source DROP DEFAULT, -- the trigger says it
    ALTER COLUMN key_format SET DEFAULT 'instant',
    ALTER COLUMN gap SET DEFAULT '', -- the rule of the schedule's kind
    ALTER COLUMN fold SET DEFAULT '',
    ADD COLUMN sql_statement text,
    ADD COLUMN enqueue_kind  text,
    ADD COLUMN enqueue_args  jsonb,
    ADD COLUMN http_endpoint text,
    ADD COLUMN http_path     text,
    ADD COLUMN http_body     jsonb,
    ADD COLUMN added_by      text,        -- known_since says when
    ADD COLUMN adopted_at    timestamptz, -- when a replica first passed over this definition

    ADD CONSTRAINT worker_schedules_stored_runs_one_thing CHECK (
        source <> 'stored' OR num_nonnulls(sql_statement, enqueue_kind, http_endpoint) = 1),
    ADD CONSTRAINT worker_schedules_code_is_complete CHECK (
        source <> 'code' OR num_nonnulls(sql_statement, enqueue_kind, enqueue_args, http_endpoint, http_path, http_body) = 0
                            AND key_format <> '' AND gap <> '' AND fold <> '');

-- What an idle replica asks every few seconds is answered by these, however
-- many schedules are stored.
DROP INDEX worker_schedules_next_slot;
CREATE INDEX worker_schedules_next_slot ON worker_schedules (source, next_slot, name) WHERE removed_at IS NULL;
CREATE INDEX worker_schedules_unresolved ON worker_schedules (name)
    WHERE source = 'code' AND removed_at IS NULL AND resolved_through < enqueued_through;
CREATE INDEX worker_schedules_changed ON worker_schedules (definition_changed_at) WHERE source = 'code';

-- It runs as its owner, so that a role which may insert needs no right on any
-- other table; and before any CHECK, which would put the row into the server's log.
-- +goose StatementBegin
CREATE FUNCTION stamp_schedule() RETURNS trigger
LANGUAGE plpgsql SECURITY DEFINER AS $$
DECLARE
    at      timestamptz := clock_timestamp();
    actions integer := num_nonnulls(NEW.sql_statement, NEW.enqueue_kind, NEW.http_endpoint);
    refusal text;
BEGIN
    IF NEW.source IS NULL THEN -- code names every column of a definition, and older code not this one
        NEW.source := CASE WHEN actions = 0 AND NEW.gap <> '' THEN 'code' ELSE 'stored' END;
    END IF;
    IF NEW.source = 'code' AND (TG_OP = 'INSERT' OR OLD.source = 'code') THEN
        RETURN NEW;
    END IF;
    refusal := CASE
        WHEN TG_OP = 'UPDATE' AND (NEW.name, NEW.source) IS DISTINCT FROM (OLD.name, OLD.source) THEN
            'its name and its source stay: delete it and insert another'
        WHEN EXISTS (SELECT FROM worker_kinds k WHERE k.name = NEW.name) THEN
            'the name is that of a worker: choose another'
        WHEN actions <> 1 THEN
            'it runs one thing: set sql_statement, or enqueue_kind, or http_endpoint'
        WHEN NEW.sql_statement !~ '\S' OR octet_length(NEW.sql_statement) > 65536 THEN
            'sql_statement must have 1 to 65536 bytes and not be blank'
        WHEN NEW.enqueue_kind IS NOT NULL
             AND NOT EXISTS (SELECT FROM worker_kinds k WHERE k.name = NEW.enqueue_kind AND k.queue = 'default') THEN
            format('enqueue_kind %s is not known: use the name of a task that a replica has registered', to_json(left(NEW.enqueue_kind, 100)))
        WHEN (NEW.enqueue_kind IS NULL) <> (NEW.enqueue_args IS NULL) THEN
            'enqueue_kind and enqueue_args go together'
        WHEN jsonb_typeof(NEW.enqueue_args) <> 'object' OR octet_length(NEW.enqueue_args::text) > 65536 THEN
            'enqueue_args must be a JSON object of at most 65536 bytes'
        WHEN (NEW.http_endpoint IS NULL) <> (NEW.http_path IS NULL) OR NEW.http_endpoint IS NULL AND NEW.http_body IS NOT NULL THEN
            'http_endpoint and http_path go together, and http_body with them'
        WHEN NEW.http_endpoint !~ '^[a-z0-9_]{1,50}$' OR octet_length(NEW.http_body::text) > 65536 THEN
            'http_endpoint must be a name that configuration has, and http_body have at most 65536 bytes'
        WHEN NEW.http_path !~ '^/' OR NEW.http_path !~ '^(/[A-Za-z0-9_~:@-][A-Za-z0-9._~:@-]*)*/?$' OR char_length(NEW.http_path) > 500 THEN
            'http_path must be like /jobs/friday: letters, digits and ._~:@- between single slashes, no segment that begins with a dot, no query'
        WHEN NEW.http_endpoint IS NOT NULL AND NEW.overlap <> 'allow' THEN
            'overlap must be allow: while an endpoint is called no transaction is open that could keep the slots apart'
        WHEN NEW.sql_statement IS NULL AND NEW.min_effects > 0 THEN
            'min_effects counts the rows that a statement writes: leave it out'
        WHEN char_length(NEW.cron) > 256 OR char_length(NEW.zone) > 64 THEN
            'cron must have at most 256 characters, and zone 64'
        WHEN greatest(NEW.max_lateness, NEW.give_up_after) > interval '10 years' THEN
            'max_lateness and give_up_after must be at most 10 years'
    END;
    IF refusal IS NOT NULL THEN
        RAISE 'schedule %: %', to_json(left(NEW.name, 100)), refusal USING ERRCODE = 'invalid_parameter_value';
    END IF;

    IF TG_OP = 'INSERT' THEN
        NEW.known_since := at;
        NEW.removed_at := NULL;
        NEW.added_by := coalesce(NEW.added_by, session_user);
    ELSIF (NEW.cron, NEW.zone, NEW.key_format, NEW.gap, NEW.fold) IS NOT DISTINCT FROM (OLD.cron, OLD.zone, OLD.key_format, OLD.gap, OLD.fold) THEN
        at := NULL; -- its slots are the same: none is dropped
    ELSIF OLD.adopted_at IS NOT NULL AND OLD.next_slot <= at THEN
        -- Nobody has come to these yet, and only the old definition could name them.
        INSERT INTO slot_skips (name, first_slot, last_slot, slots, outcome, note)
        VALUES (NEW.name, OLD.next_slot, at, 1, 'skipped_superseded', 'the definition changed first; there may be more slots up to the last one');
    END IF;
    -- Slots of a new expression count from now on. What the writer says of these is nothing to go by.
    NEW.definition_changed_at := coalesce(at, OLD.definition_changed_at);
    NEW.defined_at            := NEW.definition_changed_at;
    NEW.enqueued_through      := coalesce(at, OLD.enqueued_through);
    NEW.resolved_through      := coalesce(at, OLD.resolved_through);
    NEW.next_slot             := coalesce(at, least(OLD.next_slot, clock_timestamp()));
    NEW.adopted_at := NULL;
    NEW.note := NULL;
    PERFORM pg_notify('ranura_schedules', 'changed'); -- at the commit, every replica looks
    RETURN NEW;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION stamp_schedule SET search_path = pg_catalog, %I, pg_temp', current_schema());
END
$$;
-- +goose StatementEnd

COMMENT ON FUNCTION stamp_schedule IS
'Checks and stamps the stored schedules that are inserted or changed, and wakes the replicas.';

REVOKE ALL ON FUNCTION stamp_schedule FROM PUBLIC;

-- Not on the marks: they are the replicas' own, and move with every slot.
CREATE TRIGGER stamp_schedule BEFORE INSERT OR UPDATE OF
    name, source, cron, zone, key_format, gap, fold, catch_up, max_lateness, max_count, overlap, give_up_after, timeout, min_effects,
    sql_statement, enqueue_kind, enqueue_args, http_endpoint, http_path, http_body
ON worker_schedules FOR EACH ROW EXECUTE FUNCTION stamp_schedule();

COMMENT ON COLUMN worker_schedules.sql_statement IS
'One statement, run in the slot''s transaction by the service''s role. $slot (timestamptz) and $key (text) are the slot''s.';
COMMENT ON COLUMN worker_schedules.note IS 'Why the replicas refuse a stored schedule.';

-- +goose Down

DELETE FROM worker_schedules WHERE source = 'stored';
DROP TRIGGER stamp_schedule ON worker_schedules;
DROP FUNCTION stamp_schedule;
DROP INDEX worker_schedules_changed, worker_schedules_unresolved, worker_schedules_next_slot;
CREATE INDEX worker_schedules_next_slot ON worker_schedules (next_slot) WHERE removed_at IS NULL;
ALTER TABLE worker_schedules
    DROP CONSTRAINT worker_schedules_code_is_complete, DROP CONSTRAINT worker_schedules_stored_runs_one_thing,
    DROP COLUMN sql_statement, DROP COLUMN enqueue_kind, DROP COLUMN enqueue_args, DROP COLUMN http_endpoint,
    DROP COLUMN http_path, DROP COLUMN http_body, DROP COLUMN added_by, DROP COLUMN adopted_at,
    ALTER COLUMN key_format DROP DEFAULT, ALTER COLUMN gap DROP DEFAULT, ALTER COLUMN fold DROP DEFAULT,
    ALTER COLUMN source SET DEFAULT 'code';
