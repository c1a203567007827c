package postgres

import (
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

func TestServerEndsWithItsParent(t *testing.T) {
	t.Parallel()
	for how, signal := range map[string]syscall.Signal{
		"exit":    0,
		"panic":   0,
		"kill":    syscall.SIGKILL,
		"ctrl-c":  syscall.SIGINT,
		"timeout": syscall.SIGQUIT, // what go test sends first
		"ordered": syscall.SIGINT,
	} {
		t.Run(how, func(t *testing.T) {
			t.Parallel()
			p := startParent(t, how, nil)
			p.end(signal)
			if how == "ordered" {
				require.Equal(t, "stopped in order\n", p.rest(), "Ctrl-C must leave the server to us")
			}
			p.requireNothingLeft()
		})
	}

	t.Run("WhileItStarts", func(t *testing.T) {
		t.Parallel()
		temp := worldWritable(t)
		cmd := exec.Command(os.Args[0])
		cmd.Env = append(os.Environ(), endsHow+"=kill", "TMPDIR="+temp)
		require.NoError(t, cmd.Start())
		folders := func() []string {
			found, err := filepath.Glob(filepath.Join(temp, "ranura-postgres-*", "data", "PG_VERSION"))
			require.NoError(t, err)
			return found
		}
		require.Eventually(t, func() bool { return len(folders()) == 1 }, 30*time.Second, time.Millisecond)
		require.NoError(t, cmd.Process.Kill())
		require.Error(t, cmd.Wait())
		require.Eventually(t, func() bool {
			left, err := os.ReadDir(temp)
			require.NoError(t, err)
			return len(left) == 0
		}, 30*time.Second, 10*time.Millisecond)
	})

	t.Run("AsAnOrdinaryUserWithoutHome", func(t *testing.T) {
		t.Parallel()
		if os.Getuid() != 0 {
			t.Skip("the other tests run as an ordinary user already")
		}
		p := startParent(t, "kill", &syscall.Credential{Uid: 65534, Gid: 65534})
		p.end(syscall.SIGKILL)
		p.requireNothingLeft()
	})
}
