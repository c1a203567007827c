-- +goose Up

-- A slot that was called for, and refused for good by whoever was to do its work.
ALTER TABLE worker_runs DROP CONSTRAINT worker_runs_outcome_check;
ALTER TABLE worker_runs ADD CONSTRAINT worker_runs_outcome_check CHECK (outcome IN
    ('ran', 'skipped_late', 'skipped_capped', 'skipped_paused', 'skipped_overlap', 'skipped_superseded', 'refused'));

-- +goose Down

DELETE FROM worker_runs WHERE outcome = 'refused';
ALTER TABLE worker_runs DROP CONSTRAINT worker_runs_outcome_check;
ALTER TABLE worker_runs ADD CONSTRAINT worker_runs_outcome_check CHECK (outcome IN
    ('ran', 'skipped_late', 'skipped_capped', 'skipped_paused', 'skipped_overlap', 'skipped_superseded'));
