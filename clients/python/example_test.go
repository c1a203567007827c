package python_test

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/command"
	"github.com/ranura/ranura/internal/postgres/postgrestest"
	"github.com/ranura/ranura/internal/workers"
)

// asApp turns the test binary into the app, to be started as a replica.
const asApp = "RANURA_TEST_AS_APP"

func TestMain(m *testing.M) {
	if os.Getenv(asApp) != "" {
		os.Exit(command.Main(workers.All()))
	}
	os.Exit(m.Run())
}

// TestExample drives examples/fastapi behind a real uvicorn, with replicas that
// do its jobs.
func TestExample(t *testing.T) {
	t.Parallel()
	url := "DATABASE_URL=" + postgrestest.New(t).Config().ConnString()
	for _, name := range []string{"A", "B"} {
		startReplica(t, name, url)
	}
	pytest(t, "../../examples/fastapi", url)
}

// startReplica returns when the replica can work. It is killed when t ends.
func startReplica(t *testing.T, name, url string) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	replica := exec.CommandContext(context.WithoutCancel(t.Context()), program, "serve") // it outlives t.Context, which ends before cleanup
	replica.Env = append(os.Environ(), asApp+"=1", url, "HTTP_ADDR=127.0.0.1:0", "REPLICA_NAME="+name, "LOG_FORMAT=text", "LOG_LEVEL=INFO")
	stderr, err := replica.StderrPipe()
	require.NoError(t, err)
	require.NoError(t, replica.Start())

	log, ready, ended := &strings.Builder{}, make(chan struct{}), make(chan struct{})
	go func() {
		defer close(ended)
		for lines := bufio.NewScanner(stderr); lines.Scan(); {
			log.WriteString(lines.Text() + "\n")
			if strings.Contains(lines.Text(), `msg="replica started"`) {
				close(ready)
			}
		}
	}()
	t.Cleanup(func() {
		_ = replica.Process.Kill()
		<-ended // the log is whole
		_ = replica.Wait()
		if t.Failed() {
			t.Logf("replica %s:\n%s", name, log)
		}
	})
	select {
	case <-ready:
	case <-ended:
		require.FailNow(t, "the replica ended before it was ready")
	}
}
