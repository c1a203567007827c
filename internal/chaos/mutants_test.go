package chaos

import (
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

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
		require.Empty(t, sane.run(t, buildPatched(t, otherClock(t))))
	})
	for _, m := range slices.Concat(claimMutants(), slotMutants(), goneMutants()) {
		t.Run(strings.ReplaceAll(m.name, " ", "_"), func(t *testing.T) {
			program := buildPatched(t, slices.Concat(otherClock(t), m.patches))
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
	c.skewed = program
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
