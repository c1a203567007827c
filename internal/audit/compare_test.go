package audit_test

import (
	"encoding/json"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/audit"
	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/periodic"
)

var (
	noon  = time.Date(2026, 6, 1, 12, 0, 0, 0, time.UTC)
	slots = []periodic.Slot{slot(0), slot(1), slot(2)}
)

// slot is the n-th minute after noon.
func slot(n int) periodic.Slot {
	at := noon.Add(time.Duration(n) * time.Minute)
	return periodic.Slot{Name: "digest", Key: at.Format(time.RFC3339), At: at}
}

// ran claims a slot so much behind its instant.
func ran(slot periodic.Slot, late time.Duration) claim.Record {
	return claim.Record{Name: slot.Name, Key: slot.Key, Slot: &slot.At, RanAt: slot.At.Add(late), Outcome: "ran"}
}

func skipped(slot periodic.Slot, why string) claim.Record {
	record := ran(slot, 0)
	record.Outcome = why
	return record
}

func refused(slot periodic.Slot, output string) claim.Record {
	record := skipped(slot, "refused")
	record.Output = json.RawMessage(output)
	return record
}

func named(findings []audit.Finding) (keys []string) {
	for _, finding := range findings {
		keys = append(keys, finding.Key)
	}
	return keys
}

func TestCompare(t *testing.T) {
	t.Parallel()
	compare := func(happened []claim.Record, skips ...audit.Skip) audit.Report {
		return audit.Compare(slots, happened, skips, 5*time.Second)
	}

	t.Run("ARefusedSlotIsMissingWithItsReason", func(t *testing.T) {
		t.Parallel()
		report := compare([]claim.Record{ran(slot(0), 0), refused(slot(1), `{"status": 410, "error": "answered 410 Gone"}`), refused(slot(2), ``)})
		require.False(t, report.Agrees())
		require.Equal(t, []string{slot(1).Key, slot(2).Key}, named(report.Missing))
		require.Equal(t, "refused: answered 410 Gone", report.Missing[0].Note)
		require.Equal(t, "refused", report.Missing[1].Note)

		report = compare([]claim.Record{ran(slot(0), 0), refused(slot(1), ``), ran(slot(1), 0), ran(slot(2), 0)})
		require.True(t, report.Agrees(), "run by hand since")
	})

	t.Run("EveryExpectedSlotOnceAgrees", func(t *testing.T) {
		t.Parallel()
		report := compare([]claim.Record{ran(slot(2), 0), ran(slot(0), 0), ran(slot(1), 0)})
		require.Equal(t, []int{3, 3, 0, 0, 0, 0, 0}, []int{report.Expected, report.Ran, len(report.Skipped),
			len(report.Missing), len(report.Doubled), len(report.Unexpected), len(report.Late)})
		require.True(t, report.Agrees())
	})

	t.Run("ASlotWithoutAClaimIsMissing", func(t *testing.T) {
		t.Parallel()
		report := compare([]claim.Record{ran(slot(1), 0)})
		require.Equal(t, []string{slot(0).Key, slot(2).Key}, named(report.Missing), "oldest first")
		require.False(t, report.Agrees())
	})

	t.Run("ASlotWithTwoRunsIsDoubled", func(t *testing.T) {
		t.Parallel()
		report := compare([]claim.Record{ran(slot(0), 0), ran(slot(1), 0), ran(slot(1), time.Second), ran(slot(2), 0)})
		require.Equal(t, []string{slot(1).Key}, named(report.Doubled))
		require.Len(t, report.Doubled[0].Runs, 2)
		require.Equal(t, 3, report.Ran)
		require.False(t, report.Agrees())
	})

	t.Run("AClaimThatIsNoSlotIsUnexpected", func(t *testing.T) {
		t.Parallel()
		wrong := ran(slot(0), 0)
		wrong.Key = "2026-06-01T12:00:30Z"
		report := compare([]claim.Record{ran(slot(0), 0), ran(slot(1), 0), ran(slot(2), 0), wrong})
		require.Equal(t, []string{wrong.Key}, named(report.Unexpected))
		require.False(t, report.Agrees())
	})

	t.Run("ARefusedClaimThatIsNoSlotDidNoHarm", func(t *testing.T) {
		t.Parallel()
		report := compare([]claim.Record{ran(slot(0), 0), ran(slot(1), 0), ran(slot(2), 0), skipped(slot(3), "skipped_superseded")})
		require.True(t, report.Agrees())
	})

	t.Run("ASkipCountsByItsReason", func(t *testing.T) {
		t.Parallel()
		report := compare([]claim.Record{skipped(slot(0), "skipped_overlap")},
			audit.Skip{Name: "digest", First: slot(1).At, Last: slot(2).At, Outcome: "skipped_late"},
			audit.Skip{Name: "another", First: slot(0).At, Last: slot(2).At, Outcome: "skipped_paused"})
		require.Equal(t, map[string]int{"skipped_overlap": 1, "skipped_late": 2}, report.Skipped)
		require.True(t, report.Agrees())
	})

	t.Run("ASkippedSlotThatWasRunByHandCountsAsRun", func(t *testing.T) {
		t.Parallel()
		report := compare([]claim.Record{ran(slot(0), 0), ran(slot(1), 0), ran(slot(2), 0)},
			audit.Skip{Name: "digest", First: slot(0).At, Last: slot(2).At, Outcome: "skipped_late"})
		require.Equal(t, 3, report.Ran)
		require.Empty(t, report.Skipped)
	})

	t.Run("LateIsARemark", func(t *testing.T) {
		t.Parallel()
		report := compare([]claim.Record{ran(slot(0), 5*time.Second), ran(slot(1), 6*time.Second), ran(slot(2), 0)})
		require.Equal(t, []string{slot(1).Key}, named(report.Late))
		require.InDelta(t, 6, report.Late[0].Lateness, 0)
		require.True(t, report.Agrees())
	})

	t.Run("AForcedRunIsARemark", func(t *testing.T) {
		t.Parallel()
		again := ran(slot(1), time.Hour)
		again.Key += " forced 2026-06-01T13:01:00.000000Z"
		report := compare([]claim.Record{ran(slot(0), 0), ran(slot(1), 0), ran(slot(2), 0), again})
		require.Equal(t, []string{again.Key}, named(report.Forced))
		require.True(t, report.Agrees())
	})
}
