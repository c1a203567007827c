package command_test

import (
	"encoding/hex"
	"io"
	"net/http"
	"net/http/httptest"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
	collector "go.opentelemetry.io/proto/otlp/collector/trace/v1"
	traces "go.opentelemetry.io/proto/otlp/trace/v1"
	"google.golang.org/protobuf/proto"

	"github.com/ranura/ranura/internal/postgres/postgrestest"
)

// collected are the spans that a collector was sent.
type collected struct {
	mu    sync.Mutex
	spans []*traces.Span
	paths map[string]bool
}

func (c *collected) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	body, _ := io.ReadAll(r.Body)
	c.mu.Lock()
	defer c.mu.Unlock()
	c.paths[r.URL.Path] = true
	var export collector.ExportTraceServiceRequest
	if r.URL.Path != "/v1/traces" || proto.Unmarshal(body, &export) != nil {
		return
	}
	for _, resource := range export.GetResourceSpans() {
		for _, scope := range resource.GetScopeSpans() {
			c.spans = append(c.spans, scope.GetSpans()...)
		}
	}
}

// named returns the spans of that name.
func (c *collected) named(name string) (spans []*traces.Span) {
	for _, span := range c.spans {
		if span.GetName() == name {
			spans = append(spans, span)
		}
	}
	return spans
}

func attributeOf(span *traces.Span, key string) string {
	for _, attribute := range span.GetAttributes() {
		if attribute.GetKey() == key {
			return attribute.GetValue().String()
		}
	}
	return ""
}

// A slot's way from the timer through its job to the claim, the work and the
// commit is one story in the traces. The collector hears of the metrics too.
func TestTracesTellASlotsWay(t *testing.T) {
	t.Parallel()
	db := postgrestest.New(t)
	createBeats(t, db)
	heard := &collected{paths: make(map[string]bool)}
	server := httptest.NewServer(heard)
	defer server.Close()
	replica := start(t, db, []string{"LOG_FORMAT=json", asApp + "=beats", "OTEL_EXPORTER_OTLP_ENDPOINT=" + server.URL}, "serve")
	beats(t, db, 2)
	replica.terminate(t) // it sends what is left

	heard.mu.Lock()
	defer heard.mu.Unlock()
	require.Equal(t, map[string]bool{"/v1/traces": true, "/v1/metrics": true}, heard.paths)
	attempts := heard.named("river.work/beat")
	require.NotEmpty(t, attempts)
	inserts := make(map[string]bool)
	for _, insert := range heard.named("river.insert_many") {
		inserts[hex.EncodeToString(insert.GetSpanId())] = true
	}
	for _, attempt := range attempts {
		require.Len(t, attempt.GetLinks(), 1)
		require.True(t, inserts[hex.EncodeToString(attempt.GetLinks()[0].GetSpanId())], "the job links to its insert")
		var parts []string
		for _, span := range heard.spans {
			if string(span.GetParentSpanId()) == string(attempt.GetSpanId()) {
				parts = append(parts, span.GetName())
				require.Contains(t, attributeOf(span, "name"), `"beat"`)
				require.Regexp(t, `"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"`, attributeOf(span, "key"))
			}
		}
		require.Equal(t, []string{"claim", "work", "commit"}, parts)
	}
	require.Regexp(t, `int_value:1$`, attributeOf(heard.named("work")[0], "effects"))
}
