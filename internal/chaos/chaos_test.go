package chaos

import (
	"flag"
	"math/rand/v2"
	"os"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/command"
)

var (
	duration = flag.Duration("chaos", 0, "how long to strike; 0 leaves the fault suite out")
	mutate   = flag.Bool("mutants", false, "run the suite against services with a mistake in them")
	seed     = flag.Uint64("seed", 0, "the order of the faults; 0 draws one")
)

// TestMain turns the test binary into the app, so that the suite starts its
// replicas as real processes.
func TestMain(m *testing.M) {
	if os.Getenv(asApp) != "" {
		os.Exit(command.Main(crontab()))
	}
	os.Exit(m.Run())
}

const (
	settleWithin  = 150 * time.Second // more than any stated recovery
	quietFor      = 40 * time.Second  // five slots of five seconds, and some
	coverageNeeds = 5 * time.Minute   // a shorter run need not have met everything
)

// TestPromise is the fault suite. It takes the duration, and up to three
// minutes to settle and to be quiet.
func TestPromise(t *testing.T) {
	t.Parallel()
	if *duration == 0 {
		t.Skip("make chaos runs it, for minutes")
	}
	if *seed == 0 {
		*seed = rand.Uint64()
	}
	t.Logf("seed %d, duration %s", *seed, *duration)
	folder, skewed := t.TempDir(), buildPatched(t, otherClock(t))
	c, err := newCluster(t.Context(), folder, testProgram(t))
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, c.close()) })
	c.skewed = skewed

	asking := ask(t, c)
	strikes := strikeAll(t, c)
	healed := time.Now()
	asking.stop()
	t.Logf("healed; asked for %d slots by INSERT, %d by hand", asking.inserted, asking.runs)

	e, v := settle(t, c, strikes, healed)
	t.Logf("\n%s", v.figures(e))
	for r, violations := range v.violations {
		t.Errorf("%s: %d", r, len(violations))
	}
	if missed := v.notCovered(e); len(missed) > 0 && *duration >= coverageNeeds {
		t.Errorf("unknown: never met: %q", missed)
	}
	if t.Failed() {
		keep(t, folder)
	}
}

func strikeAll(t *testing.T, c *cluster) []strike {
	t.Helper()
	n := &nemesis{t: t, c: c, dice: rand.New(rand.NewPCG(*seed, 0))}
	faults := allFaults(c)
	begin := time.Now()
	n.run(t.Context(), faults, begin.Add(*duration/2))
	n.do(t.Context(), fault{kind: "roll out", strike: rollOut}, nil)
	return n.run(t.Context(), faults, begin.Add(*duration))
}

// settle waits until what was owed has been made good, then for a while in
// which nothing happens, and then has the judge look.
func settle(t *testing.T, c *cluster, strikes []strike, healed time.Time) (*evidence, *verdict) {
	t.Helper()
	look := func() (*evidence, *verdict) {
		e, err := gather(t.Context(), c, strikes, healed)
		require.NoError(t, err)
		return e, judge(e)
	}
	for deadline := healed.Add(settleWithin); time.Now().Before(deadline); {
		if _, v := look(); len(v.violations[lost]) == 0 && len(v.violations[stuck]) == 0 {
			break
		}
		require.NoError(t, pause(t.Context(), 5*time.Second))
	}
	t.Logf("settled %.1f s after the last fault was healed", time.Since(healed).Seconds())
	healed = time.Now()
	require.NoError(t, pause(t.Context(), quietFor))
	return look()
}

// keep copies the histories of a failed run to where they outlive it.
func keep(t *testing.T, folder string) {
	t.Helper()
	kept, err := os.MkdirTemp("", "ranura-chaos-") //nolint:usetesting // it is to outlive the test
	require.NoError(t, err)
	require.NoError(t, os.CopyFS(kept, os.DirFS(folder)))
	t.Logf("histories kept in %s", kept)
}
