-- +goose Up

-- The claim: the primary key is the guarantee, every other column is the story.
-- `INSERT INTO worker_runs (name, key) … ON CONFLICT DO NOTHING RETURNING 1` from
-- any language, in the caller's own transaction, is a valid claim.
CREATE TABLE worker_runs (
    name     text NOT NULL CHECK (char_length(name) BETWEEN 1 AND 100),
    key      text NOT NULL CHECK (char_length(key) BETWEEN 1 AND 200),
    ran_at   timestamptz NOT NULL DEFAULT now(),
    slot_at  timestamptz,
    outcome  text NOT NULL DEFAULT 'ran' CHECK (outcome IN
             ('ran', 'skipped_late', 'skipped_capped', 'skipped_paused', 'skipped_overlap', 'skipped_superseded')),
    source   text NOT NULL DEFAULT 'sql' CHECK (source IN
             ('schedule', 'catch_up', 'backfill', 'manual', 'external', 'sql')),
    job_id   bigint,
    attempt  integer,
    effects  bigint,
    output   jsonb,
    replica  text,
    PRIMARY KEY (name, key),
    CONSTRAINT worker_runs_not_early CHECK (ran_at >= slot_at) -- by this clock, whatever the claimant's says
);

CREATE INDEX worker_runs_ran_at ON worker_runs (ran_at);
CREATE INDEX worker_runs_slot_at ON worker_runs (name, slot_at);

COMMENT ON TABLE worker_runs IS 'One row per slot: the claim, committed with the slot''s effects.';

-- One row per schedule. A schedule owes nothing from before known_since.
CREATE TABLE worker_schedules (
    name                  text PRIMARY KEY CHECK (name ~ '^[a-z0-9_.-]{1,100}$'),
    cron                  text NOT NULL,
    zone                  text NOT NULL,
    key_format            text NOT NULL,
    gap                   text NOT NULL,
    fold                  text NOT NULL,
    source                text NOT NULL DEFAULT 'code' CHECK (source IN ('code', 'stored')),
    definition_changed_at timestamptz NOT NULL DEFAULT now(),
    known_since           timestamptz NOT NULL DEFAULT now()
);

-- +goose Down

DROP TABLE worker_schedules;
DROP TABLE worker_runs;
