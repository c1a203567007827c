package command

import (
	"bufio"
	"context"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os"
	"os/exec"
	"regexp"
	"sync"
	"syscall"
	"time"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

// devReplica is a real process: `app serve` on a free port, its log prefixed
// with its name.
type devReplica struct {
	name    string
	process *exec.Cmd
	stdin   io.Closer
	address string        // known once ready is closed
	ready   chan struct{} // closed when it can work
	ended   chan struct{} // closed when it is gone
}

type devReplicas []*devReplica

// startReplicas starts three. Their standard input is a pipe of ours: they
// stop when it ends, so that none outlives this process whatever happens to it.
func startReplicas(ctx context.Context, out io.Writer, databaseURL string) (devReplicas, error) {
	program, err := os.Executable()
	if err != nil {
		return nil, fmt.Errorf("start replicas: %w", err)
	}
	lines := &sync.Mutex{}
	var replicas devReplicas
	for _, name := range []string{"A", "B", "C"} {
		r := &devReplica{name: name, ready: make(chan struct{}), ended: make(chan struct{})}
		r.process = exec.CommandContext(context.WithoutCancel(ctx), program, "serve", "--until-eof")
		r.process.Env = append(os.Environ(), "DATABASE_URL="+databaseURL, "HTTP_ADDR=127.0.0.1:0", "LOG_FORMAT=text", "REPLICA_NAME="+name)
		r.process.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // Ctrl-C reaches this process, which then stops them in order
		if err := r.start(out, lines); err != nil {
			replicas.stop()
			return nil, fmt.Errorf("start replica %s: %w", name, err)
		}
		replicas = append(replicas, r)
	}
	return replicas, nil
}

func (r *devReplica) start(out io.Writer, lines *sync.Mutex) error {
	stdin, err := r.process.StdinPipe()
	if err != nil {
		return err
	}
	r.stdin = stdin
	log, err := r.process.StderrPipe()
	if err != nil {
		return err
	}
	if err := r.process.Start(); err != nil {
		return err
	}
	go r.follow(log, out, lines)
	return nil
}

// maxLine is more than a log line should have; behind a longer one the replica's
// output would no longer be read, and the replica would stand still.
const maxLine = 1 << 20

var (
	servingAt = regexp.MustCompile(`msg=serving .*http=(http://\S+)`)
	started   = regexp.MustCompile(`msg="replica started"`)
)

// follow prints the replica's log, and learns from it where the replica serves
// and when it is ready.
func (r *devReplica) follow(log io.Reader, out io.Writer, lines *sync.Mutex) {
	defer close(r.ended)
	scanner := bufio.NewScanner(log)
	scanner.Buffer(nil, maxLine)
	for scanner.Scan() {
		lines.Lock()
		fmt.Fprintf(out, "%s │ %s\n", r.name, scanner.Text())
		lines.Unlock()
		if found := servingAt.FindStringSubmatch(scanner.Text()); found != nil {
			r.address = found[1]
		}
		if started.MatchString(scanner.Text()) {
			close(r.ready)
		}
	}
	_ = r.process.Wait() // how it ended is in its log
}

// stop ends the replicas in order and waits for them.
func (replicas devReplicas) stop() {
	for _, r := range replicas {
		_ = r.process.Process.Signal(syscall.SIGTERM) // it may have ended already
	}
	for _, r := range replicas {
		select {
		case <-r.ended:
		case <-time.After(stopPatience):
			_ = r.process.Process.Kill()
			<-r.ended
		}
		_ = r.stdin.Close()
	}
}

const (
	stopPatience  = 30 * time.Second        // a replica stops within 25
	readyPatience = time.Minute             // a busy machine may take long
	stagger       = 1500 * time.Millisecond // the incident's minute, shortened
)

// waitReady returns when every replica can work.
func (replicas devReplicas) waitReady(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, readyPatience)
	defer cancel()
	for _, r := range replicas {
		select {
		case <-r.ready:
		case <-r.ended:
			return fmt.Errorf("replica %s ended before it was ready: its log tells why", r.name)
		case <-ctx.Done():
			return fmt.Errorf("wait until replica %s is ready: %w", r.name, ctx.Err())
		}
	}
	return nil
}

// shot is one trigger of the slot on one replica, and what came of it.
type shot struct {
	when    string
	replica string
	result  workers.Result
	err     error
}

// trigger fires the slot as the incident did: on every replica at the same
// instant, then on one after the other.
func (replicas devReplicas) trigger(ctx context.Context, slot periodic.Slot) []shot {
	shots := make([]shot, 2*len(replicas))
	var atOnce sync.WaitGroup
	for i, r := range replicas {
		atOnce.Go(func() { shots[i] = r.run(ctx, slot, "at once") })
	}
	atOnce.Wait()
	for i, r := range replicas {
		select {
		case <-ctx.Done():
		case <-time.After(stagger):
		}
		late := time.Duration(i+1) * stagger
		shots[len(replicas)+i] = r.run(ctx, slot, "after "+late.String())
	}
	return shots
}

func (r *devReplica) run(ctx context.Context, slot periodic.Slot, when string) shot {
	fired := shot{when: when, replica: r.name}
	ctx, cancel := context.WithTimeout(ctx, periodic.DefaultTimeout)
	defer cancel()
	where := r.address + "/schedules/" + slot.Name + "/run?slot=" + url.QueryEscape(instant(slot.At))
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, where, nil)
	if err != nil {
		fired.err = err
		return fired
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		fired.err = err
		return fired
	}
	defer response.Body.Close()
	if response.StatusCode != http.StatusOK {
		fired.err = fmt.Errorf("run on replica %s: %s", r.name, response.Status)
		return fired
	}
	fired.err = json.NewDecoder(response.Body).Decode(&fired.result)
	return fired
}
