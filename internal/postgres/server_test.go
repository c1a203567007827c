package postgres

import (
	"net"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/require"
	"golang.org/x/sync/errgroup"
)

func TestPrivateServer(t *testing.T) {
	t.Parallel()
	shared, err := Start(t.Context(), "fsync=off", "max_connections=42")
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, shared.Stop()) })

	t.Run("TwoAtOnceAndStopRemovesBoth", func(t *testing.T) {
		t.Parallel()
		servers := make([]*Server, 2)
		var starts errgroup.Group
		for i := range servers {
			starts.Go(func() (err error) {
				servers[i], err = Start(t.Context())
				return err
			})
		}
		require.NoError(t, starts.Wait())
		for _, s := range servers {
			require.Equal(t, "on", show(t, s.URL, "fsync"), "durable unless asked otherwise")
		}
		for _, s := range servers {
			require.NoError(t, s.Stop())
			require.NoDirExists(t, s.dir)
			require.NoError(t, s.Stop(), "a second stop does nothing")
		}
	})

	t.Run("SettingsReachTheServer", func(t *testing.T) {
		t.Parallel()
		require.Equal(t, "off", show(t, shared.URL, "fsync"))
		require.Equal(t, "42", show(t, shared.URL, "max_connections"))
	})

	t.Run("OtherUsersOfTheMachineNeedThePassword", func(t *testing.T) {
		t.Parallel()
		config, err := pgx.ParseConfig(shared.URL)
		require.NoError(t, err)
		config.Password = "guessed"
		_, err = pgx.ConnectConfig(t.Context(), config)
		require.ErrorContains(t, err, "password authentication failed")
	})

	t.Run("BadSettingIsOneLineAndLeavesNothing", func(t *testing.T) {
		t.Parallel()
		before := time.Now()
		_, err := Start(t.Context(), "nonsense=1")
		require.EqualError(t, err, `start private Postgres: unrecognized configuration parameter "nonsense"`)
		require.Less(t, time.Since(before), startTimeout/2, "noticed, not timed out")
	})

	t.Run("TakenPortIsNoticed", func(t *testing.T) {
		t.Parallel()
		thief, err := net.Listen("tcp", "127.0.0.1:0")
		require.NoError(t, err)
		defer thief.Close()
		programs, err := findPrograms(places)
		require.NoError(t, err)
		_, port, err := net.SplitHostPort(thief.Addr().String())
		require.NoError(t, err)
		go refuseAll(thief)
		_, err = start(t.Context(), programs, port, nil)
		require.ErrorIs(t, err, errPortTaken)
	})
}

func refuseAll(l net.Listener) {
	for {
		conn, err := l.Accept()
		if err != nil {
			return
		}
		conn.Close()
	}
}

func show(t *testing.T, url, setting string) (value string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	require.NoError(t, err)
	defer conn.Close(t.Context())
	require.NoError(t, conn.QueryRow(t.Context(), `SELECT current_setting($1)`, setting).Scan(&value))
	return value
}
