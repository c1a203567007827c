-- +goose Up

-- What a CHECK or NOT NULL refuses, the server's log shows with the whole row, and
-- a stored schedule's row has arguments and bodies. So this refuses it first.
-- +goose StatementBegin
CREATE FUNCTION check_schedule() RETURNS trigger
LANGUAGE plpgsql AS $$
DECLARE
    refusal text := CASE
        WHEN NEW.name IS NULL OR NEW.name !~ '^[a-z0-9_.-]{1,100}$' THEN
            'the name must have 1 to 100 characters of a-z, 0-9, "_", "." and "-"'
        WHEN num_nulls(NEW.cron, NEW.zone, NEW.key_format, NEW.gap, NEW.fold, NEW.catch_up, NEW.max_lateness, NEW.max_count,
                       NEW.overlap, NEW.give_up_after, NEW.timeout, NEW.min_effects) > 0 THEN
            'cron and zone must be set, and the policy must not be null: leave out what is to be the default'
        WHEN NEW.catch_up NOT IN ('all', 'latest', 'none') THEN
            'catch_up must be all, latest or none'
        WHEN NEW.overlap NOT IN ('allow', 'skip', 'wait') THEN
            'overlap must be allow, skip or wait'
        WHEN NEW.timeout NOT BETWEEN interval '1 second' AND interval '24 hours' THEN
            'timeout must be from 1 second to 24 hours'
        WHEN least(NEW.max_lateness, NEW.give_up_after) <= interval '0' THEN
            'max_lateness and give_up_after must be more than 0'
        WHEN NEW.max_count <= 0 OR NEW.min_effects < 0 THEN
            'max_count must be more than 0, and min_effects not less'
        WHEN NOT isfinite(NEW.paused_at) THEN
            'paused_at must be the time of the pause: now(), or null'
    END;
BEGIN
    IF refusal IS NOT NULL THEN
        RAISE 'schedule %: %', coalesce(to_json(left(NEW.name, 100))::text, 'without a name'), refusal USING ERRCODE = 'invalid_parameter_value';
    END IF;
    RETURN NEW;
END
$$;
-- +goose StatementEnd

-- +goose StatementBegin
DO $$
BEGIN
    EXECUTE format('ALTER FUNCTION check_schedule SET search_path = pg_catalog, %I, pg_temp', current_schema());
END
$$;
-- +goose StatementEnd

COMMENT ON FUNCTION check_schedule IS 'Refuses what the table would refuse, and says why instead of showing the row.';

-- Triggers fire by name: this one before stamp_schedule.
CREATE TRIGGER check_schedule BEFORE INSERT OR UPDATE OF
    name, cron, zone, key_format, gap, fold, catch_up, max_lateness, max_count, overlap, give_up_after, timeout, min_effects, paused_at
ON worker_schedules FOR EACH ROW EXECUTE FUNCTION check_schedule();

-- One instant that no other program can read must not keep all of them from being
-- read. Claims and skips that are there are not looked at, because there may be
-- millions.
UPDATE worker_schedules SET paused_at = clock_timestamp() WHERE NOT isfinite(paused_at);
ALTER TABLE worker_schedules ADD CONSTRAINT worker_schedules_instants CHECK (
    least(known_since, definition_changed_at, defined_at, enqueued_through, next_slot, resolved_through, removed_at, paused_at, adopted_at) >= '0001-01-01 00:00Z'
    AND greatest(known_since, definition_changed_at, defined_at, enqueued_through, next_slot, resolved_through, removed_at, paused_at, adopted_at) < '9999-12-31 00:00Z');
ALTER TABLE worker_runs ADD CONSTRAINT worker_runs_instants CHECK (
    least(slot_at, ran_at) >= '0001-01-01 00:00Z' AND greatest(slot_at, ran_at) < '9999-12-31 00:00Z') NOT VALID;
ALTER TABLE slot_skips ADD CONSTRAINT slot_skips_instants CHECK (
    least(first_slot, skipped_at) >= '0001-01-01 00:00Z' AND greatest(last_slot, skipped_at) < '9999-12-31 00:00Z') NOT VALID;

-- +goose Down

ALTER TABLE slot_skips DROP CONSTRAINT slot_skips_instants;
ALTER TABLE worker_runs DROP CONSTRAINT worker_runs_instants;
ALTER TABLE worker_schedules DROP CONSTRAINT worker_schedules_instants;
DROP TRIGGER check_schedule ON worker_schedules;
DROP FUNCTION check_schedule;
