package postgres

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"net/url"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"time"

	"github.com/jackc/pgx/v5"
)

// Server is a private Postgres on 127.0.0.1 with data of its own, for
// development and tests. It ends and its folder is removed when [Server.Stop]
// is called or this process ends in whatever way, kill -9 included.
type Server struct {
	URL string // superuser of an empty database; holds a random password that is worth nothing later

	dir    string
	keeper *exec.Cmd
	alive  *os.File // the keeper ends the server when this end of its pipe is closed, by us or by the kernel
	log    *os.File // unlinked; what initdb and postgres said
	reaped bool     // the keeper ended by itself and was waited for
}

const (
	startTimeout = time.Minute           // takes about a second; a busy machine in CI takes ten
	startRetry   = 10 * time.Millisecond // between looks at a server that is starting
	maxLog       = 1 << 20               // bytes; a start says a few hundred
	portTries    = 5                     // another process may take the free port before Postgres does
)

var errPortTaken = errors.New("port taken by another process")

// Start makes a server with Postgres's own settings, which are durable, and
// with the given ones ("name=value") on top. It returns when the server accepts
// connections, usually within two seconds. Several may run at once. As root the
// server runs as the account postgres or nobody, since Postgres refuses root.
func Start(ctx context.Context, settings ...string) (*Server, error) {
	programs, err := findPrograms(places)
	if err != nil {
		return nil, err
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for range portTries {
		var port string
		if port, err = freePort(); err != nil {
			break
		}
		var s *Server
		if s, err = start(ctx, programs, port, settings); err == nil {
			return s, nil
		}
		if !errors.Is(err, errPortTaken) {
			break
		}
	}
	return nil, fmt.Errorf("start private Postgres: %w", err)
}

func start(ctx context.Context, programs, port string, settings []string) (*Server, error) {
	s := &Server{}
	password := rand.Text()
	s.URL = (&url.URL{
		Scheme: "postgres", User: url.UserPassword(superuser, password),
		Host: net.JoinHostPort("127.0.0.1", port), Path: "/postgres", RawQuery: "sslmode=disable",
	}).String()
	if err := s.launch(programs, port, password, settings); err != nil {
		return nil, err
	}
	if err := s.waitReady(ctx); err != nil {
		return nil, errors.Join(err, s.Stop())
	}
	return s, nil
}

// freePort asks the kernel. Nothing reserves the port until Postgres binds it.
func freePort() (string, error) {
	l, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return "", fmt.Errorf("find free port: %w", err)
	}
	defer l.Close()
	return strconv.Itoa(l.Addr().(*net.TCPAddr).Port), nil
}

// waitReady returns once the server takes our password. If the keeper is gone,
// so is the server, and its log says why.
func (s *Server) waitReady(ctx context.Context) error {
	retry := time.NewTicker(startRetry)
	defer retry.Stop()
	for {
		conn, err := pgx.Connect(ctx, s.URL)
		if err == nil {
			return conn.Close(ctx)
		}
		if s.exited() {
			return s.reason()
		}
		select {
		case <-retry.C:
		case <-ctx.Done():
			return fmt.Errorf("wait for it to accept connections: %w (last: %w)", ctx.Err(), err)
		}
	}
}

// exited asks without waiting, so that no goroutine has to wait as long as the
// server lives.
func (s *Server) exited() bool {
	pid, err := syscall.Wait4(s.keeper.Process.Pid, nil, syscall.WNOHANG, nil)
	s.reaped = pid != 0 || err != nil
	return s.reaped
}

// reason picks the last line of the log that says why the server is gone. The
// refusals that our own early attempts to connect left there do not.
func (s *Server) reason() error {
	log, err := io.ReadAll(io.NewSectionReader(s.log, 0, maxLog))
	if err != nil {
		return fmt.Errorf("read its log: %w", err)
	}
	if strings.Contains(string(log), "Address already in use") {
		return errPortTaken
	}
	lines := strings.Split(strings.TrimSpace(string(log)), "\n")
	for _, line := range slices.Backward(lines) {
		for _, mark := range []string{"FATAL: ", "error: "} { // of postgres, of initdb
			_, message, ok := strings.Cut(line, mark)
			if ok && !strings.Contains(message, "starting up") {
				return errors.New(strings.TrimSpace(message))
			}
		}
	}
	return errors.New(lines[len(lines)-1])
}

// Stop ends the server at once, without a checkpoint, and removes its folder.
// A second call does nothing. Not for concurrent use.
func (s *Server) Stop() error {
	if s.alive == nil {
		return nil
	}
	s.alive.Close()
	s.alive = nil
	var err error
	if s.reaped {
		err = s.keeper.Process.Release()
	} else {
		err = s.keeper.Wait()
	}
	return errors.Join(err, s.log.Close(), os.RemoveAll(s.dir))
}
