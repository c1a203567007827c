package command_test

import (
	"fmt"
	"net/http"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

// series are the samples of a replica's page by name and labels, as they are
// written there: the labels in alphabetical order.
type series map[string]float64

func scrape(t *testing.T, at string) series {
	t.Helper()
	status, body := request(t, http.MethodGet, at+"/metrics")
	require.Equal(t, http.StatusOK, status)
	samples := make(series)
	for line := range strings.Lines(body) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), " "); ok && !strings.HasPrefix(line, "#") {
			n, err := strconv.ParseFloat(value, 64)
			require.NoError(t, err, line)
			samples[name] = n
		}
	}
	return samples
}

// of is the value of a metric that has one label, the name. It must be there.
func (s series) of(t *testing.T, metric, name string) float64 {
	t.Helper()
	key := fmt.Sprintf("%s{name=%q}", metric, name)
	require.Contains(t, s, key)
	return s[key]
}
