package claim_test

import (
	"bytes"
	"io"
	"net"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/jackc/pgx/v5/pgxpool"
	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/claim"
)

// commitCutter is a proxy in front of Postgres that cuts a connection at its
// COMMIT: before the server has seen it, or after the server has answered and
// before the client has. It cuts once; later connections pass.
type commitCutter struct {
	server string
	after  bool
	cut    atomic.Bool
}

// through returns a pool that reaches db's server through the cutter.
func (c *commitCutter) through(t *testing.T, db *pgxpool.Pool) *pgxpool.Pool {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })

	config := db.Config()
	c.server = net.JoinHostPort(config.ConnConfig.Host, strconv.Itoa(int(config.ConnConfig.Port)))
	config.ConnConfig.Host = "127.0.0.1"
	config.ConnConfig.Port = uint16(listener.Addr().(*net.TCPAddr).Port)
	config.ConnConfig.Fallbacks = nil
	go func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			go c.pass(client)
		}
	}()
	pool, err := pgxpool.NewWithConfig(t.Context(), config)
	require.NoError(t, err)
	t.Cleanup(pool.Close)
	return pool
}

func (c *commitCutter) pass(client net.Conn) {
	defer func() { _ = client.Close() }()
	server, err := net.Dial("tcp", c.server)
	if err != nil {
		return
	}
	defer func() { _ = server.Close() }()

	var mute atomic.Bool // from the COMMIT on, the client hears no more
	go func() {
		buffer := make([]byte, 1<<16)
		for {
			n, err := server.Read(buffer)
			if mute.Load() || err != nil {
				_ = client.Close() // the server has answered the COMMIT
				return
			}
			_, _ = client.Write(buffer[:n])
		}
	}()
	buffer := make([]byte, 1<<16)
	for {
		n, err := client.Read(buffer)
		if err != nil {
			return
		}
		if bytes.Contains(buffer[:n], []byte("commit\x00")) && c.cut.CompareAndSwap(false, true) {
			if !c.after {
				return
			}
			mute.Store(true)
		}
		if _, err := io.Copy(server, bytes.NewReader(buffer[:n])); err != nil {
			return
		}
	}
}

// TestLostCommit is E3: a commit whose answer was lost is a failed attempt, and
// its retry finds out what became of it.
func TestLostCommit(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		after bool
		retry claim.Outcome
	}{
		"AfterTheServerCommitted":  {true, claim.Duplicate},
		"BeforeItReachedTheServer": {false, claim.Ran},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			db := newDB(t)
			cutter := &commitCutter{after: c.after}
			unlucky := cutter.through(t, db)

			_, err := claim.Run(t.Context(), unlucky, friday, meta, pay)
			require.ErrorContains(t, err, "claim payday@2026-W22: commit: ")
			require.True(t, cutter.cut.Load())

			outcome, err := claim.Run(t.Context(), unlucky, friday, meta, pay)
			require.NoError(t, err)
			require.Equal(t, c.retry, outcome)
			require.Equal(t, 1, effects(t, db))
		})
	}
}
