package postgres

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"slices"
	"strconv"
	"strings"
)

const oldest, newest = 14, 18 // major versions that the test suite knows; 13 is out of its support

// places are where packages put the server programs without adding them to PATH.
var places = []string{
	"/usr/lib/postgresql/*/bin",                          // Debian, Ubuntu
	"/usr/pgsql-*/bin",                                   // RHEL and Fedora, from the PGDG repository
	"/opt/homebrew/opt/postgresql@*/bin",                 // Homebrew on Apple silicon
	"/usr/local/opt/postgresql@*/bin",                    // Homebrew on Intel
	"/Applications/Postgres.app/Contents/Versions/*/bin", // Postgres.app
	"/usr/libexec/postgresql*",                           // Alpine
}

// findPrograms returns the folder of initdb and postgres: the one on PATH, or
// the one that pg_config names, or else the newest in the usual places. So PATH
// is how a developer chooses. Versions that we do not support are passed over.
func findPrograms(places []string) (string, error) {
	for _, dir := range append(chosen(), newestFirst(places)...) {
		if v := version(dir); v >= oldest && v <= newest {
			return dir, nil
		}
	}
	return "", fmt.Errorf("no PostgreSQL %d to %d server programs (initdb, postgres) found: %s", oldest, newest, installHint())
}

func chosen() (dirs []string) {
	if file, err := exec.LookPath("postgres"); err == nil {
		// initdb need not be linked next to a link.
		if file, err = filepath.EvalSymlinks(file); err == nil {
			dirs = append(dirs, filepath.Dir(file))
		}
	}
	if out, err := exec.Command("pg_config", "--bindir").Output(); err == nil {
		dirs = append(dirs, strings.TrimSpace(string(out)))
	}
	return dirs
}

func newestFirst(places []string) (dirs []string) {
	for _, pattern := range places {
		found, _ := filepath.Glob(pattern) // the only error is a bad pattern
		dirs = append(dirs, found...)
	}
	slices.SortStableFunc(dirs, func(a, b string) int { return version(b) - version(a) })
	return dirs
}

var majorVersion = regexp.MustCompile(`\(PostgreSQL\) (\d+)`)

// version is the major version of the programs in dir, 0 if there are none.
func version(dir string) int {
	if _, err := os.Stat(filepath.Join(dir, "initdb")); err != nil {
		return 0 // a client package only
	}
	out, err := exec.Command(filepath.Join(dir, "postgres"), "--version").Output()
	if err != nil {
		return 0
	}
	match := majorVersion.FindSubmatch(out)
	if match == nil {
		return 0
	}
	major, _ := strconv.Atoi(string(match[1])) // digits
	return major
}

func installHint() string {
	if runtime.GOOS == "darwin" {
		return "brew install postgresql@17"
	}
	for _, manager := range []struct{ program, hint string }{
		{"apt-get", "apt-get install postgresql"},
		{"dnf", "dnf install postgresql-server"},
		{"apk", "apk add postgresql"},
		{"pacman", "pacman -S postgresql"},
	} {
		if _, err := exec.LookPath(manager.program); err == nil {
			return manager.hint
		}
	}
	return "install the PostgreSQL server"
}
