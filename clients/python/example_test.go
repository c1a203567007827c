package python_test

import (
	"bufio"
	"context"
	"net"
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
	env := []string{
		"DATABASE_URL=" + postgrestest.New(t).Config().ConnString(),
		"ENDPOINT_EXAMPLE_URL=http://" + freeAddress(t),
		"ENDPOINT_EXAMPLE_SECRET=whsec_dGhpcnR5LXR3byBieXRlcywgZm9yIHRlc3RzIG9ubHk=",
	}
	for _, name := range []string{"A", "B", "C"} {
		startReplica(t, name, env...)
	}
	pytest(t, "../../examples/fastapi", env...)
}

// freeAddress is one that nobody listens on: the application's, which the
// replicas must know before it starts.
func freeAddress(t *testing.T) string {
	t.Helper()
	listener, err := new(net.ListenConfig).Listen(t.Context(), "tcp", "127.0.0.1:0")
	require.NoError(t, err)
	defer listener.Close()
	return listener.Addr().String()
}

// startReplica returns when the replica can work. It is killed when t ends.
func startReplica(t *testing.T, name string, env ...string) {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	replica := exec.CommandContext(context.WithoutCancel(t.Context()), program, "serve") // it outlives t.Context, which ends before cleanup
	replica.Env = append(append(os.Environ(), env...), asApp+"=1", "HTTP_ADDR=127.0.0.1:0", "REPLICA_NAME="+name, "LOG_FORMAT=text", "LOG_LEVEL=INFO")
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
