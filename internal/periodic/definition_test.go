package periodic_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
)

func TestParseRefusesTheRestOfADefinition(t *testing.T) {
	t.Parallel()
	daily := func(change func(*periodic.Definition)) periodic.Definition {
		d := periodic.Definition{Cron: "@daily", Zone: "UTC"}
		change(&d)
		return d
	}
	for _, c := range []struct {
		name       string
		definition periodic.Definition
		want       string
	}{
		{"C7BlankZone", daily(func(d *periodic.Definition) { d.Zone = " " }), `zone " ": name one, such as "Europe/Berlin" or "UTC"; the host's zone is never used`},
		{"C7NoZone", daily(func(d *periodic.Definition) { d.Zone = "" }), `zone "": name one`},
		{"C7Local", daily(func(d *periodic.Definition) { d.Zone = "Local" }), `zone "Local": is whatever the host says`},
		{"C7HostsLocaltime", daily(func(d *periodic.Definition) { d.Zone = "localtime" }), `zone "localtime": is whatever the host says`},
		{"C7Misspelt", daily(func(d *periodic.Definition) { d.Zone = "Europe/Berln" }), `zone "Europe/Berln": write an IANA name, such as "Europe/Berlin": unknown time zone Europe/Berln`},
		{"LeapSecondZone", daily(func(d *periodic.Definition) { d.Zone = "right/Europe/Berlin" }), `zone "right/Europe/Berlin": not an IANA name`},
		{"Path", daily(func(d *periodic.Definition) { d.Zone = "../../etc/passwd" }), `zone "../../etc/passwd": not an IANA name`},
		{"Key", daily(func(d *periodic.Definition) { d.Key = "week" }), `key "week": use one of ["instant" "date" "iso_week" "month"]`},
		{"Gap", daily(func(d *periodic.Definition) { d.Gap = "first" }), `gap "first": use one of ["run" "skip"]`},
		{"Fold", daily(func(d *periodic.Definition) { d.Fold = "skip" }), `fold "skip": use one of ["first" "second" "both"]`},
		{"FoldOfAnInterval", daily(func(d *periodic.Definition) { d.Cron, d.Fold = "@every 1h", "first" }), `gap "" and fold "first": an interval has no wall times, leave both empty`},
		{"CatchUp", daily(func(d *periodic.Definition) { d.CatchUp = "some" }), `catch-up "some": use one of ["all" "latest" "none"]`},
		{"Overlap", daily(func(d *periodic.Definition) { d.Overlap = "queue" }), `overlap "queue": use one of ["allow" "skip" "wait"]`},
		{"MaxLateness", daily(func(d *periodic.Definition) { d.MaxLateness = -time.Minute }), `max lateness -1m0s: use more than 0`},
		{"GiveUpAfter", daily(func(d *periodic.Definition) { d.GiveUpAfter = -time.Hour }), `give up after -1h0m0s: use more than 0`},
		// River knows a timeout of -1 for "none"; here every transaction has a bound.
		{"G2DTimeoutOfNone", daily(func(d *periodic.Definition) { d.Timeout = -1 }), `timeout -1ns: use 1s to 24h0m0s, or leave it out for 1m0s`},
		{"TimeoutTooShort", daily(func(d *periodic.Definition) { d.Timeout = 10 * time.Millisecond }), `timeout 10ms: use 1s to 24h0m0s`},
		{"TimeoutTooLong", daily(func(d *periodic.Definition) { d.Timeout = 25 * time.Hour }), `timeout 25h0m0s: use 1s to 24h0m0s`},
		{"MaxCount", daily(func(d *periodic.Definition) { d.MaxCount = -1 }), `max count -1: use more than 0`},
		{"MinEffects", daily(func(d *periodic.Definition) { d.MinEffects = -1 }), `min effects -1: use 0 or more`},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := periodic.Parse("digest", c.definition)
			require.ErrorContains(t, err, fmt.Sprintf("schedule \"digest\": cron %q: %s", c.definition.Cron, c.want))
		})
	}
	for _, name := range []string{"", "Digest", "weekly digest", "café", strings.Repeat("a", 101)} {
		_, err := periodic.Parse(name, periodic.Definition{Cron: "@daily", Zone: "UTC"})
		require.ErrorContains(t, err, "name must be 1 to 100 of a-z, 0-9, _, . and -")
	}
}

func TestParseFillsInDefaults(t *testing.T) {
	t.Parallel()
	policy := periodic.Policy{
		CatchUp: periodic.All, MaxLateness: 7 * 24 * time.Hour, MaxCount: 100, Overlap: periodic.Allow, GiveUpAfter: 24 * time.Hour,
		Timeout: time.Minute,
	}
	fixed := parse(t, periodic.Definition{Cron: "0,30 9-17 * * *", Zone: "UTC"})
	require.Equal(t, periodic.Definition{
		Cron: "0,30 9-17 * * *", Zone: "UTC", Key: periodic.Instant, Gap: periodic.RunAfterGap, Fold: periodic.FirstInFold,
		Policy: policy,
	}, fixed.Definition)
	for _, cron := range []string{"*/15 * * * *", "0 8-18/2 * * *", "30 0-23 * * *", "@hourly", "@every 1h"} {
		elapsed := parse(t, periodic.Definition{Cron: cron, Zone: "UTC", Key: periodic.ISOWeek})
		require.Equal(t, periodic.Definition{
			Cron: cron, Zone: "UTC", Key: periodic.ISOWeek, Gap: periodic.SkipGap, Fold: periodic.BothInFold,
			Policy: policy,
		}, elapsed.Definition)
		require.Equal(t, elapsed, parse(t, elapsed.Definition), "what is stored parses to the same schedule")
	}
}
