package chaos

// A mutant is the service with one mistake in it. The suite must find it.
type mutant struct {
	name    string
	patches []patch
	faults  []string // the kinds that bring it out; none if it needs none
}

// The files that the mistakes are made in. A mutant names the lines that it
// changes: when they are gone, it is to be written anew.
const (
	takeFile    = "internal/claim/take.go"
	runFile     = "internal/claim/run.go"
	catchUpFile = "internal/periodic/catch_up.go"
	resolveFile = "internal/periodic/resolve.go"
	riverFile   = "internal/workers/river.go"
)

// A lost claim that works all the same.
var noClaim = patch{runFile, `	if !mine {
		return Duplicate, nil
	}
`, `	if !mine {
		return Ran, isolate(ctx, work, &guard{Tx: tx})
	}
`}

// A claim that is not there any more when its outcome is to be recorded.
var unrecorded = patch{takeFile, "tag.RowsAffected() != 1", "tag.RowsAffected() > 1"}

func claimMutants() []mutant {
	return []mutant{
		{"a lost claim that works all the same", []patch{noClaim}, []string{"operator retries"}},
		{"a lost claim and a completion that nobody checks", []patch{noClaim,
			{"internal/workers/answer.go", "if done.State != rivertype.JobStateCompleted || done.Attempt != job.Attempt {", "if done == nil {"}},
			[]string{"freeze 25 s", "operator retries"}},
		{"a claim in a savepoint", []patch{unrecorded, {runFile, `	xid, mine, err := take(ctx, tx, key, meta)
`, `	inner, err := tx.Begin(ctx)
	if err != nil {
		return "", err
	}
	defer func() { _ = inner.Rollback(ctx) }()
	xid, mine, err := take(ctx, inner, key, meta)
	_ = inner.Rollback(ctx)
`}}, []string{"operator retries"}},
		{"a claim in a transaction of its own", []patch{unrecorded, {runFile, `	xid, mine, err := take(ctx, tx, key, meta)
`, `	other, err := pgx.ConnectConfig(ctx, tx.Conn().Config())
	if err != nil {
		return "", err
	}
	defer func() { _ = other.Close(ctx) }()
	own, err := other.Begin(ctx)
	if err != nil {
		return "", err
	}
	xid, mine, err := take(ctx, own, key, meta)
	if err == nil {
		err = own.Commit(ctx)
	}
`}}, []string{"kill one"}},
		{"a claim by upsert", []patch{{takeFile, "DO NOTHING\nRETURNING", "DO UPDATE SET attempt = excluded.attempt\nRETURNING"}}, []string{"operator retries"}},
		{"claims purged after 5 s", []patch{{takeFile, "WITH settings AS MATERIALIZED (", "WITH purged AS (DELETE FROM worker_runs WHERE ran_at < now() - interval '5 seconds'), settings AS MATERIALIZED ("}}, []string{"operator retries"}},
		{"a claim that a crash forgets", []patch{
			{takeFile, "'synchronous_commit', 'on', true)\n)\nINSERT", "'synchronous_commit', 'off', true)\n)\nINSERT"},
			{takeFile, "SELECT set_config('synchronous_commit', 'on', true))\nUPDATE", "SELECT set_config('synchronous_commit', 'off', true))\nUPDATE"},
		}, []string{"crash Postgres"}},
	}
}

func slotMutants() []mutant {
	return []mutant{
		{"the slot from the clock", []patch{{"internal/periodic/timer.go", "Schedule.At(t.armed)", "Schedule.At(time.Now().Truncate(time.Second))"}}, []string{"freeze leader 10 s"}},
		{"unique by period", []patch{{"internal/periodic/jobs.go", "river.UniqueOpts{ByArgs: true, ByState: rivertype.JobStates()}", "river.UniqueOpts{ByPeriod: 3 * time.Second}"},
			{"internal/periodic/jobs.go", "	\"github.com/riverqueue/river/rivertype\"\n", ""}, {"internal/periodic/jobs.go", "import (\n", "import (\n\t\"time\"\n"}}, nil},
		{"the replica's own clock", []patch{
			{riverFile, "early := a.slot.At.Sub(*job.AttemptedAt); early > 0", "early := a.slot.At.Sub(*job.AttemptedAt); early > time.Duration(1<<62)"},
			{"internal/periodic/stored.go", "	return &s, nil\n", "	s.now = time.Now()\n	return &s, nil\n"},
			{"migrations/001_runs.sql", "CHECK (ran_at >= slot_at)", "CHECK (true)"},
		}, []string{"clock +1 min"}},
		{"no catch-up", []patch{{catchUpFile, "func (c *CatchUp) RunOnce(ctx context.Context) (Pass, error) {\n",
			"func (c *CatchUp) RunOnce(ctx context.Context) (Pass, error) {\n\tif c != nil {\n\t\treturn Pass{Next: time.Now().Add(time.Second)}, nil\n\t}\n"}}, []string{"kill leader"}},
		{"a mark that moves without its jobs", []patch{{resolveFile, "InsertManyTx(ctx, tx, jobs)", "InsertManyTx(ctx, tx, jobs[:len(jobs)-1:len(jobs)-1])"}}, []string{"kill leader"}},
		{"a mark in another transaction than its jobs", []patch{{resolveFile, "	inserted, err := c.Client.InsertManyTx(ctx, tx, jobs)\n", `	time.AfterFunc(3*time.Second, func() { _, _ = c.Client.InsertMany(context.WithoutCancel(ctx), jobs) })
	inserted, err := []*rivertype.JobInsertResult(nil), error(nil)
`}, {resolveFile, "import (\n", "import (\n\t\"github.com/riverqueue/river/rivertype\"\n"}}, []string{"kill one", "kill leader", "kill all"}},
	}
}

func goneMutants() []mutant {
	return []mutant{
		{"no hand-back", []patch{{"internal/replica/hand_back.go", "len(gone) == 0", "len(gone) >= 0"}}, []string{"kill one", "kill leader"}},
		{"nobody ends the sessions of the dead", []patch{
			{"internal/replica/hand_back.go", "SELECT count(pg_terminate_backend(pid))", "SELECT count(pid)"},
			{"internal/postgres/pool.go", "milliseconds(timeout + grace)", "\"0\""},
		}, []string{"lose power"}},
	}
}
