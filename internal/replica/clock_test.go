package replica

import (
	"log/slog"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestB5ClockSkewIsSaidOnce: when it goes wrong and when it is right again.
func TestB5ClockSkewIsSaidOnce(t *testing.T) {
	t.Parallel()
	var out strings.Builder
	log := slog.New(slog.NewTextHandler(&out, nil))
	database := time.Date(2026, 5, 29, 18, 0, 0, 0, time.UTC)
	var c clock
	compare := func(ours, took time.Duration) string {
		out.Reset()
		c.compare(log, database.Add(ours), database, database.Add(ours+took))
		return out.String()
	}
	require.Empty(t, compare(0, time.Millisecond))
	require.Empty(t, compare(-9*time.Second, 10*time.Second), "a slow answer is no skew")
	require.Empty(t, compare(5*time.Second, 0))
	require.Contains(t, compare(time.Hour, 0), "skew=1h0m0s")
	require.Empty(t, compare(time.Hour, 0))
	require.Contains(t, compare(0, 0), "right again")
	require.Contains(t, compare(-time.Minute, time.Second), "skew=-59s")
}
