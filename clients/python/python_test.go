// Package python_test runs the tests of the Python side, so that `go test ./...`
// is the one command that tests everything, and pytest gets what the Go tests
// have: a migrated database of its own on a real server.
package python_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

func TestClient(t *testing.T) {
	t.Parallel()
	pytest(t, ".", "DATABASE_URL="+postgrestest.New(t).Config().ConnString())
}

// pytest runs the tests in a folder.
func pytest(t *testing.T, folder string, env ...string) {
	t.Helper()
	client, err := filepath.Abs(".")
	require.NoError(t, err)
	python := interpreter(t, "asyncpg, fastapi, httpx, psycopg, psycopg2, pytest, sqlalchemy, uvicorn")
	// Short tracebacks have no fixtures in them, and so not the URL with its password.
	run := exec.CommandContext(t.Context(), python, "-m", "pytest", "-q", "--tb=short", "-p", "no:cacheprovider")
	run.Dir = folder
	run.Env = append(os.Environ(), append(env, "PYTHONDONTWRITEBYTECODE=1", "PYTHONPATH="+client+":"+client+"/tests")...)
	out, err := run.CombinedOutput()
	require.NoError(t, err, "%s", out)
	t.Logf("%s", out)
}

func TestTypes(t *testing.T) {
	t.Parallel()
	python := interpreter(t, "mypy, psycopg, starlette")
	mypy := exec.CommandContext(t.Context(), python, "-m", "mypy", "--cache-dir="+os.DevNull, "ranura", "tests/check_types.py")
	out, err := mypy.CombinedOutput()
	require.NoError(t, err, "%s", out)
}

// interpreter is the first Python that has these modules. That of the
// distribution comes second, because PATH may lead to another one.
func interpreter(t *testing.T, modules string) string {
	t.Helper()
	for _, python := range []string{"python3", "/usr/bin/python3"} {
		if exec.CommandContext(t.Context(), python, "-c", "import sys, "+modules+"; assert sys.version_info >= (3, 11)").Run() == nil {
			return python
		}
	}
	t.Skipf("no Python 3.11 with %s: DEVELOPMENT.md says how to install them", modules)
	return ""
}
