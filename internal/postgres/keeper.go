package postgres

import (
	_ "embed"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"os/user"
	"path/filepath"
	"strconv"
	"syscall"
)

const (
	superuser    = "ranura"
	passwordFile = "password"
	scriptFile   = "keeper.sh"
)

//go:embed keeper.sh
var keeperScript string

// launch starts the keeper in a session of its own: the terminal's Ctrl-C
// reaches us and not the server, so we can shut down in order.
func (s *Server) launch(programs, port, password string, settings []string) error {
	account, err := account()
	if err != nil {
		return err
	}
	if s.dir, err = newFolder(account, password); err != nil {
		return err
	}
	if s.log, err = unlinkedFile(); err != nil {
		return errors.Join(err, os.RemoveAll(s.dir))
	}
	theirs, ours, err := os.Pipe()
	if err != nil {
		return errors.Join(fmt.Errorf("pipe to keeper: %w", err), s.log.Close(), os.RemoveAll(s.dir))
	}
	defer theirs.Close()
	s.keeper = exec.Command("/bin/sh", filepath.Join(s.dir, scriptFile), programs, s.dir, superuser, port)
	for _, setting := range settings {
		s.keeper.Args = append(s.keeper.Args, "-c", setting)
	}
	s.keeper.Dir = "/"
	// Not our environment: PGDATA, PGOPTIONS and the like would reach the server.
	s.keeper.Env = []string{"PATH=" + os.Getenv("PATH"), "LC_ALL=C"}
	s.keeper.Stdin, s.keeper.Stdout, s.keeper.Stderr = theirs, s.log, s.log
	s.keeper.SysProcAttr = &syscall.SysProcAttr{Setsid: true, Credential: account}
	if err := s.keeper.Start(); err != nil {
		return errors.Join(fmt.Errorf("start keeper: %w", err), ours.Close(), s.log.Close(), os.RemoveAll(s.dir))
	}
	s.alive = ours
	return nil
}

// account is whom the server runs as: ourselves (nil), or somebody harmless if we are root.
func account() (*syscall.Credential, error) {
	if os.Getuid() != 0 {
		return nil, nil
	}
	for _, name := range []string{"postgres", "nobody"} {
		u, err := user.Lookup(name)
		if err != nil {
			continue
		}
		uid, err := strconv.ParseUint(u.Uid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("account %s: %w", name, err)
		}
		gid, err := strconv.ParseUint(u.Gid, 10, 32)
		if err != nil {
			return nil, fmt.Errorf("account %s: %w", name, err)
		}
		return &syscall.Credential{Uid: uint32(uid), Gid: uint32(gid)}, nil
	}
	return nil, errors.New("postgres does not run as root, and there is no account postgres or nobody: run as an ordinary user")
}

// newFolder makes the server's folder, readable by its account only.
func newFolder(account *syscall.Credential, password string) (string, error) {
	dir, err := os.MkdirTemp("", "ranura-postgres-")
	if err != nil {
		return "", fmt.Errorf("make its folder: %w", err)
	}
	passwordPath, scriptPath := filepath.Join(dir, passwordFile), filepath.Join(dir, scriptFile)
	err = errors.Join(
		os.WriteFile(passwordPath, []byte(password), 0o600),
		os.WriteFile(scriptPath, []byte(keeperScript), 0o600))
	for _, path := range []string{passwordPath, scriptPath, dir} {
		if err == nil && account != nil {
			err = os.Chown(path, int(account.Uid), int(account.Gid))
		}
	}
	if err != nil {
		return "", errors.Join(fmt.Errorf("make its folder: %w", err), os.RemoveAll(dir))
	}
	return dir, nil
}

// unlinkedFile has no name, so it vanishes with the last process that has it
// open. A pipe would not do: the server must not block or die when nobody reads.
func unlinkedFile() (*os.File, error) {
	file, err := os.CreateTemp("", "ranura-postgres-log-")
	if err != nil {
		return nil, fmt.Errorf("make its log: %w", err)
	}
	return file, os.Remove(file.Name())
}
