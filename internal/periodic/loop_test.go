package periodic

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestB4NoSleepIsLong: a timer counts the time that the machine is awake. One
// that is armed for hours is late by as long as the laptop slept.
func TestB4NoSleepIsLong(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, time.May, 29, 22, 0, 0, 0, time.UTC)
	in := func(until time.Duration) Pass { return Pass{Now: now, Next: now.Add(until)} }

	require.Equal(t, longest, pause(in(3*time.Hour), nil, false))
	require.Equal(t, longest, pause(Pass{Now: now}, nil, false), "nothing to come")
	require.Equal(t, time.Second, pause(in(3*time.Hour), errors.New("away"), false))
	require.Equal(t, 5*time.Second+eager, pause(in(5*time.Second), nil, true))
	for range 100 {
		late := pause(in(5*time.Second), nil, false) - 5*time.Second
		require.GreaterOrEqual(t, late, patience)
		require.Less(t, late, patience+spread)
	}
}
