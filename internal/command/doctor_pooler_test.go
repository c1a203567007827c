package command_test

import (
	"context"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// H1: a pooler in transaction mode is found, be it that it refuses the sessions'
// settings or that it drops them; and H6: a limit that the settings would have
// overridden.
func TestH1DoctorFindsAPoolerInTransactionMode(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	requireWrong(t, examine(t, throughPgBouncer(t, db, "extra_float_digits"))["connection"], "unsupported startup parameter", "session mode")

	execute(t, db, fmt.Sprintf(`ALTER DATABASE %s SET idle_in_transaction_session_timeout = '300ms'`, db.Config().ConnConfig.Database))
	bouncer := throughPgBouncer(t, db, `default_transaction_isolation, idle_in_transaction_session_timeout, lock_timeout, plan_cache_mode,
		statement_timeout, tcp_keepalives_count, tcp_keepalives_idle, tcp_keepalives_interval, tcp_user_timeout`)
	requireWrong(t, examine(t, bouncer)["pooler"], "prepared statement .* already exists", "session mode")
	found := examine(t, bouncer+"&default_query_exec_mode=exec")
	requireWrong(t, found["pooler"], "^a notification did not arrive within 3s$", "session mode")
	requireWrong(t, found["server limits"], `^idle_in_transaction_session_timeout = 300ms, and an attempt may take`, "raise them")
}

// throughPgBouncer is the database's URL by way of a PgBouncer in transaction mode.
func throughPgBouncer(t *testing.T, db *pgxpool.Pool, ignored string) string {
	t.Helper()
	program, err := exec.LookPath("pgbouncer")
	if err != nil {
		program = "/usr/sbin/pgbouncer" // Debian's, which is not on everybody's PATH
	}
	if _, err := os.Stat(program); err != nil {
		t.Skip("PgBouncer is not installed")
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	address := listener.Addr().(*net.TCPAddr)
	require.NoError(t, listener.Close())

	target := db.Config().ConnConfig
	folder := t.TempDir()
	require.NoError(t, os.Chmod(filepath.Dir(folder), 0o755)) //nolint:gosec // PgBouncer reads it as nobody
	file := filepath.Join(folder, "pgbouncer.ini")
	require.NoError(t, os.WriteFile(file, fmt.Appendf(nil, `[databases]
* = host=%s port=%d user=%s password=%s
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = %d
unix_socket_dir =
auth_type = any
pool_mode = transaction
ignore_startup_parameters = %s
`, target.Host, target.Port, target.User, target.Password, address.Port, strings.Join(strings.Fields(ignored), " ")), 0o644)) //nolint:gosec // as above
	bouncer := exec.CommandContext(context.Background(), program, file)
	if os.Geteuid() == 0 { // it refuses root
		bouncer.SysProcAttr = &syscall.SysProcAttr{Credential: &syscall.Credential{Uid: 65534, Gid: 65534}}
	}
	said := &output{}
	bouncer.Stdout, bouncer.Stderr = said, said
	require.NoError(t, bouncer.Start())
	t.Cleanup(func() {
		_ = bouncer.Process.Kill()
		_ = bouncer.Wait()
		if t.Failed() {
			t.Log(said.String())
		}
	})
	at := net.JoinHostPort("127.0.0.1", strconv.Itoa(address.Port))
	eventually(t, "PgBouncer listens", func() bool {
		conn, err := net.Dial("tcp", at)
		if err == nil {
			_ = conn.Close()
		}
		return err == nil
	})
	return fmt.Sprintf("postgres://%s@%s/%s?sslmode=disable", target.User, at, target.Database)
}
