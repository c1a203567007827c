package postgres

import (
	"fmt"
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/require"
)

// Not parallel: PATH belongs to the process.
func TestFindPrograms(t *testing.T) {
	at13, at15, at17, at19 := fakePrograms(t, 13), fakePrograms(t, 15), fakePrograms(t, 17), fakePrograms(t, 19)

	t.Run("PathDecides", func(t *testing.T) {
		t.Setenv("PATH", at15)
		dir, err := findPrograms([]string{at17})
		require.NoError(t, err)
		require.Equal(t, at15, dir)
	})

	t.Run("OfTheUsualPlacesTheNewestSupported", func(t *testing.T) {
		t.Setenv("PATH", at13)
		dir, err := findPrograms([]string{at15, at19, at17})
		require.NoError(t, err)
		require.Equal(t, at17, dir)
	})

	t.Run("NoneSaysWhatToInstall", func(t *testing.T) {
		t.Setenv("PATH", "")
		_, err := findPrograms([]string{at13, t.TempDir()})
		require.ErrorContains(t, err, "no PostgreSQL 14 to 18 server programs (initdb, postgres) found: ")
	})
}

func fakePrograms(t *testing.T, major int) string {
	t.Helper()
	dir, err := filepath.EvalSymlinks(t.TempDir()) // the temp folder of macOS is a link
	require.NoError(t, err)
	script := fmt.Sprintf("#!/bin/sh\necho 'postgres (PostgreSQL) %d.1 (Fake)'\n", major)
	for _, name := range []string{"initdb", "postgres"} {
		require.NoError(t, os.WriteFile(filepath.Join(dir, name), []byte(script), 0o755)) //nolint:gosec // a program
	}
	return dir
}
