package postgres

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
)

// endsHow makes this test binary, started again, a parent that starts a
// private server and ends in the way that the variable says.
const endsHow = "RANURA_TEST_PARENT_ENDS"

func TestMain(m *testing.M) {
	if how := os.Getenv(endsHow); how != "" {
		parent(how)
	}
	os.Exit(m.Run())
}

// parent tells its folder and URL, waits for a line, and ends.
func parent(how string) {
	interrupts := make(chan os.Signal, 1)
	if how == "ordered" {
		signal.Notify(interrupts, os.Interrupt)
	}
	s, err := Start(context.Background())
	if err != nil {
		panic(err)
	}
	fmt.Println(s.dir, s.URL)
	_, _ = bufio.NewReader(os.Stdin).ReadString('\n')
	switch how {
	case "exit":
		os.Exit(3)
	case "panic":
		panic("as asked")
	case "ordered":
		<-interrupts
		conn, err := pgx.Connect(context.Background(), s.URL)
		if err != nil {
			panic(err) // the Ctrl-C ended the server before us
		}
		conn.Close(context.Background())
		if err := s.Stop(); err != nil {
			panic(err)
		}
		fmt.Println("stopped in order")
		os.Exit(0)
	}
	select {} // until the signal
}

type parentProcess struct {
	*testing.T
	cmd    *exec.Cmd
	stdin  io.Writer
	stdout *bufio.Reader
	dir    string
	server int // process id
}

// startParent returns once the parent's server answers.
func startParent(t *testing.T, how string, account *syscall.Credential) *parentProcess {
	t.Helper()
	p := &parentProcess{T: t, cmd: exec.Command(os.Args[0])}
	p.cmd.Env = append(os.Environ(), endsHow+"="+how)
	p.cmd.SysProcAttr = &syscall.SysProcAttr{Setpgid: true, Credential: account} // a Ctrl-C reaches a whole group
	if account != nil {
		p.cmd.Path = copyForAll(t, os.Args[0])
		p.cmd.Env = []string{endsHow + "=" + how, "PATH=" + os.Getenv("PATH")}
	}
	var err error
	p.stdin, err = p.cmd.StdinPipe()
	require.NoError(t, err)
	stdout, err := p.cmd.StdoutPipe()
	require.NoError(t, err)
	p.stdout = bufio.NewReader(stdout)
	require.NoError(t, p.cmd.Start())

	line, err := p.stdout.ReadString('\n')
	require.NoError(t, err)
	dir, _, ok := strings.Cut(line, " ")
	require.True(t, ok)
	p.dir = dir
	pidFile, err := os.ReadFile(filepath.Join(dir, "data", "postmaster.pid"))
	require.NoError(t, err)
	first, _, _ := strings.Cut(string(pidFile), "\n")
	p.server, err = strconv.Atoi(first)
	require.NoError(t, err)
	require.True(t, exists(p.server))
	return p
}

// end lets the parent go on to its end, or sends the signal to its group.
func (p *parentProcess) end(signal syscall.Signal) {
	p.Helper()
	_, err := io.WriteString(p.stdin, "\n")
	require.NoError(p, err)
	if signal != 0 {
		require.NoError(p, syscall.Kill(-p.cmd.Process.Pid, signal))
	}
}

func (p *parentProcess) rest() string {
	p.Helper()
	rest, err := io.ReadAll(p.stdout)
	require.NoError(p, err)
	return string(rest)
}

func (p *parentProcess) requireNothingLeft() {
	p.Helper()
	_ = p.cmd.Wait() // it was made to fail
	require.Eventually(p, func() bool {
		_, err := os.Stat(p.dir)
		return os.IsNotExist(err) && !exists(p.server)
	}, 30*time.Second, 10*time.Millisecond)
}

func exists(pid int) bool { return syscall.Kill(pid, 0) != syscall.ESRCH }

// copyForAll copies a program to where every account may execute it.
func copyForAll(t *testing.T, program string) string {
	t.Helper()
	content, err := os.ReadFile(program)
	require.NoError(t, err)
	copied := filepath.Join(worldWritable(t), "parent")
	require.NoError(t, os.WriteFile(copied, content, 0o755)) //nolint:gosec // for all
	return copied
}

func worldWritable(t *testing.T) string {
	t.Helper()
	dir, err := os.MkdirTemp("", "ranura-test-") //nolint:usetesting // t.TempDir lies in a folder that others may not enter
	require.NoError(t, err)
	t.Cleanup(func() { os.RemoveAll(dir) })
	require.NoError(t, os.Chmod(dir, 0o777)) //nolint:gosec // for all
	return dir
}
