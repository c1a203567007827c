package command_test

import (
	"bytes"
	"context"
	"log/slog"
	"os"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/command"
	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

// asApp turns the test binary into the app, with the test's workers in its
// crontab, so that the tests can start it as a real process and kill it.
const asApp = "RANURA_TEST_AS_APP"

func TestMain(m *testing.M) {
	switch os.Getenv(asApp) {
	case "beats":
		os.Exit(command.Main([]workers.Entry{workers.On(beat{}, everySecond)}))
	case "river":
		if err := riverAlone(); err != nil {
			slog.Error("River alone", "error", err) // the test prints what the process said
			os.Exit(1)
		}
		os.Exit(0)
	case "calls":
		os.Exit(command.Main([]workers.Entry{workers.On(calling{}, everyYear)}))
	case "plain":
		os.Exit(command.Main([]workers.Entry{workers.On(stuck{}, periodic.Definition{Cron: "@yearly", Zone: "UTC"})}))
	case "pulses":
		os.Exit(command.Main([]workers.Entry{workers.On(pulse{}, everySecond)}))
	case "years":
		os.Exit(command.Main(years()))
	case "1":
		os.Exit(command.Main(append(workers.All(), workers.On(beat{}, everySecond), workers.On(stuck{}, everyYear), workers.OnDemand(echo{}))))
	}
	os.Exit(m.Run())
}

var (
	everySecond = periodic.Definition{Cron: "@every 1s", Zone: "UTC"}
	everyYear   = periodic.Definition{Cron: "@yearly", Zone: "UTC", Policy: periodic.Policy{MaxLateness: 100 * 365 * 24 * time.Hour}}
)

// years is a crontab without a slot that comes of itself while a test runs.
func years() []workers.Entry {
	definition := everyYear
	definition.Timeout = patient
	return []workers.Entry{workers.On(stuck{}, definition)}
}

// pulse is another service's beat.
type pulse struct{ beat }

func (pulse) Name() string { return "pulse" }

// beat writes one row per second. Its table has no unique key, so that a
// double run would show.
type beat struct{}

func (beat) Name() string { return "beat" }

func (beat) Run(ctx context.Context, tx pgx.Tx, slot periodic.Slot) error {
	_, err := tx.Exec(ctx, `INSERT INTO beats (slot) VALUES ($1)`, slot.At)
	return err
}

// stuck writes its effect and then waits for a lock that the test holds.
type stuck struct{}

func (stuck) Name() string { return "stuck" }

func (stuck) Run(ctx context.Context, tx pgx.Tx, slot periodic.Slot) error {
	if err := (beat{}).Run(ctx, tx, slot); err != nil {
		return err
	}
	_, err := tx.Exec(ctx, `SELECT pg_advisory_xact_lock_shared($1)`, stuckLock)
	return err
}

const stuckLock = 42

// echo is a task that writes what it is told.
type echo struct {
	Text string `json:"text"`
}

func (echo) Name() string { return "echo" }

func (e echo) Run(ctx context.Context, tx pgx.Tx) error {
	_, err := tx.Exec(ctx, `INSERT INTO echoes (text) VALUES ($1)`, e.Text)
	return err
}

func createBeats(t *testing.T, db *pgxpool.Pool) {
	t.Helper()
	_, err := db.Exec(t.Context(), `CREATE TABLE beats (slot timestamptz NOT NULL)`)
	require.NoError(t, err)
}

func count(t *testing.T, db *pgxpool.Pool, sql string, args ...any) (n int) {
	t.Helper()
	require.NoError(t, db.QueryRow(t.Context(), sql, args...).Scan(&n))
	return n
}

// process is the app as a real process.
type process struct {
	*exec.Cmd

	stdout, stderr output
}

// output is a buffer that may be read while the process writes.
type output struct {
	mu     sync.Mutex
	buffer bytes.Buffer
}

func (o *output) Write(p []byte) (int, error) {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.Write(p)
}

func (o *output) String() string {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.buffer.String()
}

// start starts the app on db; db may be nil. It is killed when the test ends.
func start(t *testing.T, db *pgxpool.Pool, env []string, args ...string) *process {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	p := &process{Cmd: exec.CommandContext(context.Background(), program, args...)} // it outlives t.Context, which ends before cleanup
	p.Env = append(withoutDatabase(os.Environ()), asApp+"=1", "HTTP_ADDR=127.0.0.1:0")
	if db != nil {
		p.Env = append(p.Env, "DATABASE_URL="+db.Config().ConnString())
	}
	p.Env = append(p.Env, env...)
	p.Stdout, p.Stderr = &p.stdout, &p.stderr
	require.NoError(t, p.Start())
	t.Cleanup(func() {
		_ = p.Process.Kill()
		_ = p.Wait()
		if t.Failed() {
			t.Logf("%v:\n%s%s", args, &p.stdout, &p.stderr)
		}
	})
	return p
}

func withoutDatabase(env []string) (rest []string) {
	for _, variable := range env {
		if !strings.HasPrefix(variable, "DATABASE_URL=") {
			rest = append(rest, variable)
		}
	}
	return rest
}

// run runs the app to its end and returns its exit status.
func run(t *testing.T, db *pgxpool.Pool, args ...string) (stdout, stderr string, status int) {
	t.Helper()
	p := start(t, db, nil, args...)
	_ = p.Wait() // the status tells
	return p.stdout.String(), p.stderr.String(), p.ProcessState.ExitCode()
}

// serve starts a replica and waits until it is ready.
func serve(t *testing.T, db *pgxpool.Pool, name string) *process {
	t.Helper()
	p := start(t, db, []string{"REPLICA_NAME=" + name, "LOG_FORMAT=json", "LOG_LEVEL=DEBUG"}, "serve")
	eventually(t, "replica "+name+" starts", func() bool { return strings.Contains(p.stderr.String(), `"replica started"`) })
	return p
}

// terminate stops a replica in order.
func (p *process) terminate(t *testing.T) {
	t.Helper()
	require.NoError(t, p.Process.Signal(syscall.SIGTERM))
	require.NoError(t, p.Wait(), "an orderly stop exits 0")
}

// eventually polls for a condition, up to a deadline that only a hang reaches.
func eventually(t *testing.T, what string, condition func() bool) {
	t.Helper()
	require.Eventually(t, condition, time.Minute, 20*time.Millisecond, what)
}

// midSlot starts a replica named victim that has claimed the slot of New Year
// 2026 and written its effect, and cannot go on before release is called.
func midSlot(t *testing.T, db *pgxpool.Pool) (victim *process, release func()) {
	t.Helper()
	holder, err := db.Begin(t.Context())
	require.NoError(t, err)
	_, err = holder.Exec(t.Context(), `SELECT pg_advisory_xact_lock($1)`, stuckLock)
	require.NoError(t, err)

	victim = serve(t, db, "victim")
	_, err = db.Exec(t.Context(), `
		INSERT INTO river_job (kind, args, queue, max_attempts)
		VALUES ('stuck', '{"key": "2026-01-01T00:00:00Z", "slot": "2026-01-01T00:00:00Z"}', 'slots', 25)`)
	require.NoError(t, err)
	const atTheLock = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event = 'advisory'`
	eventually(t, "the worker holds its claim and its effect", func() bool { return count(t, db, atTheLock) == 1 })
	return victim, func() { require.NoError(t, holder.Rollback(t.Context())) }
}
