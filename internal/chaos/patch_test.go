package chaos

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// A patch replaces one piece of one source file, for one build.
type patch struct{ file, old, new string }

// module is the root of the module, seen from this package.
const module = "../.."

// buildPatched builds the test binary from patched sources; the files stay as
// they are. It fails if a patch does not fit any more.
func buildPatched(t *testing.T, patches []patch) (program string) {
	t.Helper()
	folder, replace := t.TempDir(), make(map[string]string)
	for i, p := range patches {
		original := p.file
		if !filepath.IsAbs(original) {
			var err error
			original, err = filepath.Abs(filepath.Join(module, p.file))
			require.NoError(t, err)
		}
		from := original
		if replace[original] != "" {
			from = replace[original] // patched once already
		}
		source, err := os.ReadFile(from)
		require.NoError(t, err)
		require.Equal(t, 1, strings.Count(string(source), p.old), "%s has this once: %s", p.file, p.old)
		replace[original] = filepath.Join(folder, fmt.Sprintf("%d.go", i))
		require.NoError(t, os.WriteFile(replace[original], []byte(strings.Replace(string(source), p.old, p.new, 1)), 0o600))
	}
	text, err := json.Marshal(map[string]map[string]string{"Replace": replace})
	require.NoError(t, err)
	overlay := filepath.Join(folder, "overlay.json")
	require.NoError(t, os.WriteFile(overlay, text, 0o600))

	program = filepath.Join(folder, "app")
	out, err := exec.CommandContext(t.Context(), "go", "test", "-c", "-overlay", overlay, "-o", program, ".").CombinedOutput()
	require.NoError(t, err, "build: %s", out)
	return program
}

// testProgram is this test binary.
func testProgram(t *testing.T) string {
	t.Helper()
	program, err := os.Executable()
	require.NoError(t, err)
	return program
}
