package chaos

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// A mutant is the service with one mistake in it. The suite must find it.
type mutant struct {
	name    string
	patches []patch
	faults  []string // the kinds that bring it out
}

// mutants name the line that they change: when it is gone, the mutant is to be
// written anew.
func mutants() []mutant {
	const take = "internal/claim/take.go"
	return []mutant{
		{"a claim by upsert", []patch{{take, "DO NOTHING\nRETURNING", "DO UPDATE SET attempt = excluded.attempt\nRETURNING"}}, []string{"operator retries"}},
		{"claims purged after 5 s", []patch{{take, "WITH settings AS MATERIALIZED (", "WITH purged AS (DELETE FROM worker_runs WHERE ran_at < now() - interval '5 seconds'), settings AS MATERIALIZED ("}}, []string{"operator retries"}},
		{"a claim that a crash forgets", []patch{{take, "'synchronous_commit', 'on'", "'synchronous_commit', 'off'"}}, []string{"crash Postgres"}},
		{"the slot from the clock", []patch{{"internal/periodic/timer.go", "Schedule.At(t.armed)", "Schedule.At(time.Now().Truncate(time.Second))"}}, []string{"freeze leader 10 s"}},
		{"no catch-up", []patch{{"internal/periodic/catch_up.go", "func (c *CatchUp) RunOnce(ctx context.Context) (Pass, error) {\n", "func (c *CatchUp) RunOnce(ctx context.Context) (Pass, error) {\n\tif c != nil {\n\t\treturn Pass{Next: time.Now().Add(time.Second)}, nil\n\t}\n"}}, []string{"kill leader"}},
		{"no hand-back", []patch{{"internal/replica/hand_back.go", "len(gone) == 0", "len(gone) >= 0"}}, []string{"kill one", "kill leader"}},
		{"a mark that moves without its jobs", []patch{{"internal/periodic/resolve.go", "InsertManyTx(ctx, tx, jobs)", "InsertManyTx(ctx, tx, jobs[:len(jobs)-1:len(jobs)-1])"}}, []string{"kill leader"}},
	}
}

const (
	mutantFor   = 40 * time.Second
	mutantTries = 3
)

// TestMutants runs the suite against each mutant, until it is found.
//
//nolint:paralleltest // each run needs the machine for itself
func TestMutants(t *testing.T) {
	if !*mutate {
		t.Skip("make chaos-mutants runs it, for many minutes")
	}
	t.Run("None", func(t *testing.T) { // or nothing would say that it is the mistake that is found
		sane := mutant{faults: []string{"crash Postgres", "kill leader", "kill one", "operator retries"}}
		require.Empty(t, sane.run(t, testProgram(t)))
	})
	for _, m := range mutants() {
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			program := buildPatched(t, m.patches)
			for try := 1; try <= mutantTries; try++ {
				if found := m.run(t, program); len(found) > 0 {
					t.Logf("found in run %d: %v", try, found)
					return
				}
			}
			t.Errorf("not found in %d runs", mutantTries)
		})
	}
}

// run returns the rules that the mutant was seen to break.
func (m mutant) run(t *testing.T, program string) (found []rule) {
	t.Helper()
	c, err := newCluster(t.Context(), t.TempDir(), program)
	require.NoError(t, err)
	defer func() { require.NoError(t, c.close()) }()
	chosen := slices.DeleteFunc(allFaults(c), func(f fault) bool { return !slices.Contains(m.faults, f.kind) })
	require.Len(t, chosen, len(m.faults))

	asking := ask(t, c)
	n := &nemesis{t: t, c: c, dice: rand.New(rand.NewPCG(*seed, 0))}
	strikes := n.run(t.Context(), chosen, time.Now().Add(mutantFor))
	asking.stop()
	healed := time.Now()
	require.NoError(t, pause(t.Context(), recovery+settling))
	e, err := gather(t.Context(), c, strikes, healed)
	require.NoError(t, err)
	v := judge(e)
	for _, r := range rules {
		if len(v.violations[r]) > 0 {
			t.Logf("%-10s %4d, such as %s", r, len(v.violations[r]), v.violations[r][0])
			found = append(found, r)
		}
	}
	return found
}
