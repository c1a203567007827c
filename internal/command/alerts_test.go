package command_test

import (
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

var metricName = regexp.MustCompile(`\b(ranura|river)_[a-z_]+[a-z]\b`)

// Every metric that the alerts, the dashboard and their docs name is one that a
// replica exports, and every alert has its place in the docs.
func TestWhatTheAlertsAndTheDashboardNameIsExported(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	replica := serve(t, db, "exporter")
	at := address(t, replica)
	beats(t, db, 1)
	var exported []string
	eventually(t, "the survey is of the replica", func() bool {
		samples := scrape(t, at)
		exported = nil
		for key := range samples {
			name, _, _ := strings.Cut(key, "{")
			exported = append(exported, name, strings.TrimSuffix(name, "_bucket"))
		}
		return samples["ranura_replicas"] == 1
	})

	dashboard, err := os.ReadFile("../../deploy/grafana/dashboard.json")
	require.NoError(t, err)
	require.True(t, json.Valid(dashboard))
	rules, err := os.ReadFile("../../deploy/prometheus/rules.yaml")
	require.NoError(t, err)
	docs, err := os.ReadFile("../../docs/alerts.md")
	require.NoError(t, err)
	named := slices.Concat(metricName.FindAllString(string(dashboard), -1), metricName.FindAllString(string(rules), -1), metricName.FindAllString(string(docs), -1))
	require.Greater(t, len(named), 50)
	for _, metric := range named {
		require.Contains(t, exported, metric)
	}
	for _, alert := range regexp.MustCompile(`alert: (\w+)`).FindAllStringSubmatch(string(rules), -1) {
		require.Contains(t, string(docs), "\n### "+alert[1]+"\n")
		require.Contains(t, string(rules), "docs/alerts.md#"+strings.ToLower(alert[1])+"\n")
	}
}

// requireAlerts feeds what a replica exports to Prometheus' rules, as if it had
// said the same for half an hour, and requires the alerts that fire then.
func requireAlerts(t *testing.T, now series, want ...string) {
	t.Helper()
	if _, err := exec.LookPath("promtool"); err != nil {
		t.Skip("promtool is not installed")
	}
	const evaluated = 30 * time.Minute // after the test's own beginning of time
	rules, err := filepath.Abs("../../deploy/prometheus/rules.yaml")
	require.NoError(t, err)
	var test strings.Builder
	fmt.Fprintf(&test, "rule_files: [%q]\nevaluation_interval: 1m\ntests:\n- interval: 1m\n  input_series:\n", rules)
	fmt.Fprintf(&test, "  - { series: 'up{job=\"ranura\"}', values: 1x40 }\n")
	for key, value := range now {
		if !strings.HasPrefix(key, "ranura_") || strings.Contains(key, "_bucket{") {
			continue
		}
		if strings.Contains(key, "_timestamp_") { // 0, which is never, is long ago too
			value -= float64(time.Now().Add(-evaluated).Unix())
		}
		fmt.Fprintf(&test, "  - { series: '%s', values: %fx40 }\n", key, value)
	}
	fmt.Fprintf(&test, "  promql_expr_test:\n  - expr: count by (alertname, name) (ALERTS{alertstate=\"firing\"})\n    eval_time: 30m\n    exp_samples:\n")
	for _, alert := range want {
		fmt.Fprintf(&test, "    - { labels: '{alertname=%q, name=\"stuck\"}', value: 1 }\n", alert)
	}
	file := filepath.Join(t.TempDir(), "test.yaml")
	require.NoError(t, os.WriteFile(file, []byte(test.String()), 0o600))
	said, err := exec.CommandContext(t.Context(), "promtool", "test", "rules", file).CombinedOutput()
	require.NoError(t, err, "%s", said)
}
