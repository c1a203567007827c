-- +goose Up

-- How a schedule behaves when something goes wrong, and how far it has come.
ALTER TABLE worker_schedules
    ADD COLUMN catch_up      text     NOT NULL DEFAULT 'all' CHECK (catch_up IN ('all', 'latest', 'none')),
    ADD COLUMN max_lateness  interval NOT NULL DEFAULT '7 days' CHECK (max_lateness > '0'),
    ADD COLUMN max_count     integer  NOT NULL DEFAULT 100 CHECK (max_count > 0),
    ADD COLUMN overlap       text     NOT NULL DEFAULT 'allow' CHECK (overlap IN ('allow', 'skip', 'wait')),
    ADD COLUMN give_up_after interval NOT NULL DEFAULT '24 hours' CHECK (give_up_after > '0'),
    ADD COLUMN min_effects   bigint   NOT NULL DEFAULT 0 CHECK (min_effects >= 0),

    -- Which of the services that share the database has it.
    ADD COLUMN service       text     NOT NULL DEFAULT 'ranura',

    -- When the replica started whose definition this is: the newest wins.
    ADD COLUMN defined_at    timestamptz NOT NULL DEFAULT now(),

    -- Every slot at or before enqueued_through has been handed to River, has run
    -- or was skipped; next_slot is the first one after it, NULL if there is none.
    ADD COLUMN enqueued_through timestamptz NOT NULL DEFAULT now(),
    ADD COLUMN next_slot        timestamptz,

    -- Every slot at or before it has a worker_runs row or a recorded skip.
    ADD COLUMN resolved_through timestamptz NOT NULL DEFAULT now(),

    ADD COLUMN removed_at    timestamptz, -- no live replica of its service has it any more
    ADD COLUMN paused_at     timestamptz,
    ADD COLUMN paused_by     text,
    ADD COLUMN paused_reason text,
    ADD COLUMN note          text;

CREATE INDEX worker_schedules_next_slot ON worker_schedules (next_slot) WHERE removed_at IS NULL;

-- Slots that were never enqueued, and why: one row for a whole range. A run of
-- one of them, by hand or by a backfill, counts all the same.
CREATE TABLE slot_skips (
    id         bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
    name       text NOT NULL,
    first_slot timestamptz NOT NULL,
    last_slot  timestamptz NOT NULL CHECK (last_slot >= first_slot),
    slots      bigint NOT NULL CHECK (slots > 0),
    outcome    text NOT NULL CHECK (outcome IN
               ('skipped_late', 'skipped_capped', 'skipped_paused', 'skipped_overlap', 'skipped_superseded')),
    skipped_at timestamptz NOT NULL DEFAULT now(),
    replica    text,
    note       text
);

CREATE INDEX slot_skips_name ON slot_skips (name, last_slot);

-- One row per process of the service, from its start until it is gone.
CREATE TABLE replicas (
    id           text PRIMARY KEY, -- River's client id, unique for each start
    service      text NOT NULL,
    host         text NOT NULL,
    version      text NOT NULL,
    schedules    text[] NOT NULL,
    started_at   timestamptz NOT NULL DEFAULT now(),
    last_seen_at timestamptz NOT NULL DEFAULT now()
);

-- +goose Down

DROP TABLE replicas, slot_skips;
DROP INDEX worker_schedules_next_slot;
ALTER TABLE worker_schedules
    DROP COLUMN catch_up, DROP COLUMN max_lateness, DROP COLUMN max_count, DROP COLUMN overlap,
    DROP COLUMN give_up_after, DROP COLUMN min_effects, DROP COLUMN service, DROP COLUMN defined_at, DROP COLUMN enqueued_through,
    DROP COLUMN next_slot, DROP COLUMN resolved_through, DROP COLUMN removed_at, DROP COLUMN paused_at,
    DROP COLUMN paused_by, DROP COLUMN paused_reason, DROP COLUMN note;
