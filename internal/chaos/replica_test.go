package chaos

import (
	"errors"
	"fmt"
	"io"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"sync"
	"syscall"
	"time"
)

// asApp turns the test binary into the app.
const asApp = "RANURA_CHAOS_AS_APP"

// replica is one place of the service: a proxy, and the process that lives
// there at the moment. Each start writes a file of its own.
type replica struct {
	name   string
	proxy  *proxy
	url    string // of Postgres, through the proxy
	folder string // of the histories

	mu      sync.Mutex // held by the fault that has the replica in hand
	starts  int
	process *exec.Cmd
	stdin   io.Closer
	ended   chan struct{}
	program string // what to start: the test binary, or one with another clock
	env     []string
}

func newReplica(name, databaseURL, folder, program string) (*replica, error) {
	through, err := url.Parse(databaseURL)
	if err != nil {
		return nil, err
	}
	p, err := newProxy(through.Host)
	if err != nil {
		return nil, fmt.Errorf("proxy of %s: %w", name, err)
	}
	through.Host = p.listener.Addr().String()
	return &replica{name: name, proxy: p, url: through.String(), folder: folder, program: program, env: []string{versionEnv + "=" + firstVersion}}, nil
}

// start starts the process. It stops when its standard input ends, so it does
// not outlive the suite.
func (r *replica) start() error {
	r.starts++
	file, err := os.OpenFile(filepath.Join(r.folder, fmt.Sprintf("%s-%03d.jsonl", r.name, r.starts)), os.O_CREATE|os.O_WRONLY|os.O_APPEND, 0o600)
	if err != nil {
		return err
	}
	defer file.Close() // the process has its own
	r.process = exec.Command(r.program, "serve", "--until-eof")
	r.process.Env = append(append(os.Environ(), asApp+"=1", "DATABASE_URL="+r.url, "HTTP_ADDR=127.0.0.1:0",
		"LOG_FORMAT=json", "LOG_LEVEL=DEBUG", "REPLICA_NAME="+r.name), r.env...)
	r.process.Stderr = file
	if r.stdin, err = r.process.StdinPipe(); err != nil {
		return err
	}
	if err := r.process.Start(); err != nil {
		return fmt.Errorf("start replica %s: %w", r.name, err)
	}
	process, ended := r.process, make(chan struct{})
	r.ended = ended
	go func() {
		_ = process.Wait() // how it ended is in its history
		close(ended)
	}()
	return nil
}

func (r *replica) signal(signal syscall.Signal) error {
	err := r.process.Process.Signal(signal)
	if errors.Is(err, os.ErrProcessDone) {
		return nil
	}
	return err
}

// kill ends the process at once.
func (r *replica) kill() error {
	err := r.signal(syscall.SIGKILL)
	<-r.ended
	return errors.Join(err, ignoreClosed(r.stdin.Close()))
}

// orderlyStop is how long a replica may take to stop, by its own documentation.
const orderlyStop = 25 * time.Second

var errSlowStop = errors.New("an orderly stop took longer than 25 s")

// stop asks the process to end in order, and waits.
func (r *replica) stop() error {
	if err := r.signal(syscall.SIGTERM); err != nil {
		return err
	}
	select {
	case <-r.ended:
		return ignoreClosed(r.stdin.Close())
	case <-time.After(orderlyStop + 2*time.Second):
		return errors.Join(fmt.Errorf("replica %s: %w", r.name, errSlowStop), r.kill())
	}
}

func (r *replica) isRunning() bool {
	select {
	case <-r.ended:
		return false
	default:
		return true
	}
}

func ignoreClosed(err error) error {
	if errors.Is(err, os.ErrClosed) {
		return nil
	}
	return err
}
