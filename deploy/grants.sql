-- Who may do what. Run it as the owner of the schema, in the schema of the
-- service, after app migrate up, and again after every upgrade:
--
--     psql "$OWNER_URL" --set ON_ERROR_STOP=1 --single-transaction --file deploy/grants.sql
--
-- The three roles are groups. Make the login roles members of them, and put
-- other names here if you like:
--
--     CREATE ROLE ranura LOGIN PASSWORD '…' IN ROLE ranura_runtime;    -- app serve
--     CREATE ROLE fastapi LOGIN PASSWORD '…' IN ROLE ranura_enqueuer;  -- a backend
--     CREATE ROLE grafana LOGIN PASSWORD '…' IN ROLE ranura_reader;    -- who looks
--
-- The owner migrates and does nothing else: no service logs in as the owner.

DO $$
DECLARE
    role text;
BEGIN
    FOREACH role IN ARRAY ARRAY['ranura_runtime', 'ranura_enqueuer', 'ranura_reader'] LOOP
        IF NOT EXISTS (SELECT FROM pg_roles WHERE rolname = role) THEN
            EXECUTE format('CREATE ROLE %I NOLOGIN', role);
        END IF;
        EXECUTE format('GRANT USAGE ON SCHEMA %I TO %I', current_schema(), role);
    END LOOP;
    EXECUTE format('REVOKE CREATE ON SCHEMA %I FROM PUBLIC', current_schema());

    -- A table that a later migration adds is the service's before this runs again.
    EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA %I GRANT SELECT, INSERT, UPDATE, DELETE ON TABLES TO ranura_runtime', current_schema());
    EXECUTE format('ALTER DEFAULT PRIVILEGES IN SCHEMA %I GRANT USAGE ON SEQUENCES TO ranura_runtime', current_schema());
END
$$;

-- The enqueuer: two functions, and no table. Whoever may claim may also keep a
-- slot from running; leave claim_run out for a backend that only enqueues.
--
-- A team that stores schedules needs no more than these columns, for tasks:
--     GRANT INSERT (name, cron, zone, enqueue_kind, enqueue_args) ON worker_schedules TO …;
-- With sql_statement among them it may do whatever the service may.
GRANT EXECUTE ON FUNCTION claim_run, enqueue_job TO ranura_enqueuer;

-- The reader: what app schedules, runs and audit print. No arguments of jobs, no
-- errors, and of a stored schedule no statement, arguments or body.
GRANT SELECT ON replicas, slot_skips, worker_kinds, worker_runs, ranura_migrations, river_migration, token_transactions TO ranura_reader;
GRANT SELECT (name, source, cron, zone, key_format, gap, fold, catch_up, max_lateness, max_count, overlap, give_up_after, timeout,
        min_effects, enqueue_kind, http_endpoint, http_path, service, added_by, defined_at, definition_changed_at, known_since, adopted_at,
        enqueued_through, next_slot, resolved_through, removed_at, paused_at, paused_by, paused_reason, note)
    ON worker_schedules TO ranura_reader;
GRANT SELECT (id, kind, queue, state, priority, attempt, max_attempts, created_at, scheduled_at, attempted_at, finalized_at)
    ON river_job TO ranura_reader;

-- The runtime: the service. River's tables …
GRANT SELECT, INSERT, UPDATE, DELETE ON river_job, river_leader, river_queue TO ranura_runtime;
GRANT USAGE ON SEQUENCE river_job_id_seq TO ranura_runtime;
-- … ours …
GRANT SELECT ON ranura_migrations, river_migration TO ranura_runtime;
GRANT SELECT, INSERT, UPDATE, DELETE ON replicas, worker_kinds, worker_runs, worker_schedules TO ranura_runtime;
GRANT SELECT, INSERT ON slot_skips TO ranura_runtime;
GRANT EXECUTE ON FUNCTION claim_run, enqueue_job TO ranura_runtime;
-- … and the community's. A ledger is written to and never changed.
GRANT SELECT ON activity, members, sections, squad_members, squads, wallet_mismatches TO ranura_runtime;
GRANT SELECT, INSERT ON leaderboard_places, notifications, replies, squad_health, token_transactions TO ranura_runtime;
GRANT SELECT, INSERT, UPDATE ON threads, wallets TO ranura_runtime;
