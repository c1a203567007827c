package chaos

import (
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// skewEnv is by how many seconds the clock of a skewed program is off.
const skewEnv = "RANURA_CHAOS_SKEW"

// skewedNow replaces the head of the standard library's time.Now. It moves the
// wall clock and leaves the monotonic one alone, as a wrong clock does.
const skewedNow = `
var skew = func() (seconds int64) {
	text, _ := syscall.Getenv("` + skewEnv + `")
	digits, negative := text, false
	if text != "" && text[0] == '-' {
		digits, negative = text[1:], true
	}
	for _, digit := range digits {
		seconds = seconds*10 + int64(digit-'0')
	}
	if negative {
		return -seconds
	}
	return seconds
}()

func Now() Time {
	sec, nsec, mono := runtimeNow()
	sec += skew
`

// otherClock are the patches by which a program has another clock if it is told so.
func otherClock(t *testing.T) []patch {
	t.Helper()
	root, err := exec.CommandContext(t.Context(), "go", "env", "GOROOT").Output()
	require.NoError(t, err)
	clock := filepath.Join(strings.TrimSpace(string(root)), "src", "time", "time.go")
	return []patch{
		{clock, "\nfunc Now() Time {\n\tsec, nsec, mono := runtimeNow()\n", skewedNow},
		{clock, "import (\n", "import (\n\t\"syscall\"\n"},
	}
}
