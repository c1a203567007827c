-- +goose Up

-- What is enqueued after a schedule changed names no slot from before that. The
-- queue stamps a job with the clock of the process that inserts it, which may be
-- behind; its number is the database's.
ALTER TABLE worker_schedules ADD COLUMN jobs_before bigint NOT NULL DEFAULT 0;
UPDATE worker_schedules SET jobs_before = coalesce(pg_sequence_last_value(to_regclass('river_job_id_seq')), 0);

COMMENT ON COLUMN worker_schedules.jobs_before IS 'The last job that had been enqueued when the definition changed.';

-- +goose Down

ALTER TABLE worker_schedules DROP COLUMN jobs_before;
