package chaos

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/claim"
)

func TestReadHistory(t *testing.T) {
	t.Parallel()
	read := func(t *testing.T, lines ...string) (events []event, odd []string) {
		t.Helper()
		events, odd, err := readHistory("A-001.jsonl", strings.NewReader(strings.Join(lines, "\n")))
		require.NoError(t, err)
		return events, odd
	}
	const begins = `{"msg":"probe began","name":"flaky","key":"k","nonce":"N"}`
	key := claim.Key{Name: "flaky", Key: "k"}

	for name, c := range map[string]struct {
		line string
		want event
	}{
		"AnAnsweredCommitIsOk": {`{"msg":"slot ran","name":"flaky","key":"k"}`, event{kind: ok, nonce: "N"}},
		"ARollbackIsAFailure":  {`{"msg":"slot failed","name":"flaky","key":"k","error":"claim flaky@k: work: no"}`, event{kind: fail, nonce: "N", text: "claim flaky@k: work: no"}},
		"ALostAnswerIsUnknown": {`{"msg":"slot failed","name":"flaky","key":"k","error":"claim flaky@k: commit: EOF"}`, event{kind: info, nonce: "N", text: "claim flaky@k: commit: EOF"}},
		"ALostClaimHasNoNonce": {`{"msg":"slot already ran","name":"flaky","key":"k"}`, event{kind: noop}},
		"ALockTimeoutHasNone":  {`{"msg":"slot failed","name":"flaky","key":"k","error":"claim flaky@k: take: 55P03"}`, event{kind: fail, text: "claim flaky@k: take: 55P03"}},
		"NorHasWhoCannotRead":  {`{"msg":"slot failed","name":"flaky","key":"k","error":"read the policy of \"flaky\": EOF"}`, event{kind: fail, text: `read the policy of "flaky": EOF`}},
		"ACommandsLastWordToo": {`app: claim flaky@k: commit: EOF`, event{kind: info, nonce: "N", text: "claim flaky@k: commit: EOF"}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			events, odd := read(t, begins, `{"msg":"serving"}`, c.line)
			require.Empty(t, odd)
			require.Len(t, events, 2)
			c.want.process, c.want.key = "A-001.jsonl", key
			require.Equal(t, c.want, events[1])
		})
	}

	t.Run("WhatIsNoLogLineIsReported", func(t *testing.T) {
		t.Parallel()
		_, odd := read(t, "panic: runtime error")
		require.Equal(t, []string{"A-001.jsonl: panic: runtime error"}, odd)
	})
}
