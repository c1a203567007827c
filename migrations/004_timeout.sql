-- +goose Up

-- How long one attempt may take; there is always a limit.
ALTER TABLE worker_schedules
    ADD COLUMN timeout interval NOT NULL DEFAULT '1 minute' CHECK (timeout BETWEEN '1 second' AND '24 hours');

-- +goose Down

ALTER TABLE worker_schedules DROP COLUMN timeout;
