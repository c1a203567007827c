package replica

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"
)

// TestPulse: three rounds missed are a loop that has stopped; one that ended in
// order is none.
func TestPulse(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		var p pulse
		require.NoError(t, p.alive(), "no loop runs yet")
		beat, _ := p.start("beat", 10*time.Second)
		_, end := p.start("catch-up", time.Hour)

		<-time.After(30 * time.Second)
		require.NoError(t, p.alive())
		<-time.After(time.Second)
		require.EqualError(t, p.alive(), "beat has not gone round for 31s")
		beat()
		require.NoError(t, p.alive())

		for range 3*360 + 1 {
			<-time.After(10 * time.Second)
			beat()
		}
		require.EqualError(t, p.alive(), "catch-up has not gone round for 3h0m41s")
		end()
		require.NoError(t, p.alive())
	})
}
