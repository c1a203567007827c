package periodic_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
)

func TestParseRefuses(t *testing.T) {
	t.Parallel()
	for cron, want := range map[string]string{
		// D1
		"0 0 30 2 *":     `day of month "30" with month "2": never fires`,
		"0 0 31 4 *":     `day of month "31" with month "4": never fires`,
		"0 0 31 2,4,6 *": `day of month "31" with month "2,4,6": never fires`,
		// D2
		"0 0 L * *":   `day of month "L": `,
		"0 0 15W * *": `day of month "15W": `,
		"0 0 * * 5#3": `day of week "5#3": `,
		"0 0 ? * *":   `day of month "?": `,
		// D4
		"":                       `has 0 fields, write 5`,
		" \t ":                   `has 0 fields, write 5`,
		"* * * *":                `has 4 fields, write 5`,
		"* * * * * *":            `has 6 fields, write 5`,
		"0 0 * * Sunday":         `day of week "Sunday": `,
		"60 * * * *":             `minute "60": use 0-59: `,
		"* 24 * * *":             `hour "24": use 0-23: `,
		"* * 0 * *":              `day of month "0": use 1-31: `,
		"* * * 13 *":             `month "13": use 1-12 or jan-dec: `,
		"* * * * 8":              `day of week "8": use 0-7 or sun-sat: `,
		"5-1 * * * *":            `minute "5-1": range "5-1" runs backwards`,
		"0 0 * * FRI-MON":        `day of week "FRI-MON": range "fri-mon" runs backwards`,
		"0 0 * nov-feb *":        `month "nov-feb": range "nov-feb" runs backwards`,
		"*/0 * * * *":            `minute "*/0": use 0-59: `,
		"-1 * * * *":             `minute "-1": `,
		"@reboot":                `unknown descriptor "@reboot", use @hourly`,
		"@Weekly":                `unknown descriptor "@Weekly", use @hourly`,
		"@every 1d":              `interval "1d": write hours, minutes and seconds`,
		"*/90 * * * *":           `minute "*/90": use 0-59: `,
		"*/60 * * * *":           `minute "*/60": use 0-59: `,
		"50/15 * * * *":          `minute "50/15": use 0-59: `,
		"0 0 * * */7":            `day of week "*/7": use 0-7 or sun-sat: `,
		"1,2,, * * * *":          `minute "1,2,,": `,
		",1 * * * *":             `minute ",1": `,
		"*,1 * * * *":            `minute "*,1": `,
		"1/2/3 * * * *":          `minute "1/2/3": `,
		"1-2-3 * * * *":          `minute "1-2-3": `,
		"+5 * * * *":             `minute "+5": `,
		"H * * * *":              `minute "H": `,
		"0\u00a00 * * *":         `has 4 fields, write 5`,
		"TZ=":                    `take TZ= out of the expression`,
		"CRON_TZ=Asia/Kolkata":   `take TZ= out of the expression`,
		"TZ=UTC 0 9 * * *":       `take TZ= out of the expression`,
		"0 9 * * * cron_tz=x":    `take TZ= out of the expression`,
		"CRON_TZ=Mars/Phobos *":  `take TZ= out of the expression`,
		"0 0 */2 * 1":            `crons disagree`,
		strings.Repeat("1", 257): `has 257 characters, at most 256 are read`,
		// A5
		"@every":           `interval "": `,
		"@every 0s":        `interval "0s": use whole seconds`,
		"@every 500ms":     `interval "500ms": use whole seconds`,
		"@every 1500ms":    `interval "1500ms": use whole seconds`,
		"@every -5m":       `interval "-5m": use whole seconds`,
		"@every 1000000h":  `interval "1000000h": use whole seconds`,
		"@every 1h @daily": `interval "1h @daily": `,
	} {
		t.Run(cron, func(t *testing.T) {
			t.Parallel()
			_, err := periodic.Parse("weekly.bonus", periodic.Definition{Cron: cron, Zone: "UTC"})
			require.ErrorContains(t, err, fmt.Sprintf("schedule \"weekly.bonus\": cron %.40q: ", cron))
			require.ErrorContains(t, err, want)
			require.NotContains(t, err.Error(), "\n")
		})
	}
}

func TestD4ParseAccepts(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ cron, after, want string }{
		{"@weekly", "2026-06-01", "06-07T00:00Z 06-14T00:00Z"},
		{"0 0 * * 7", "2026-06-01", "06-07T00:00Z 06-14T00:00Z"},
		{"0 0 * * sun", "2026-06-01", "06-07T00:00Z 06-14T00:00Z"},
		{"0 0 * * SUN", "2026-06-01", "06-07T00:00Z 06-14T00:00Z"},
		{"0 0 * * THU", "2026-06-01", "06-04T00:00Z 06-11T00:00Z"},
		{"0 0 * * 5-7", "2026-06-01", "06-05T00:00Z 06-06T00:00Z 06-07T00:00Z 06-12T00:00Z"},
		{"0 0 * * */3", "2026-06-01", "06-03T00:00Z 06-06T00:00Z 06-07T00:00Z 06-10T00:00Z"},
		{"0 0 * * 1/2", "2026-06-01", "06-03T00:00Z 06-05T00:00Z 06-08T00:00Z"},
		{"@daily", "2026-06-01", "06-02T00:00Z 06-03T00:00Z"},
		{"@midnight", "2026-06-01", "06-02T00:00Z 06-03T00:00Z"},
		{"@hourly", "2026-06-01", "06-01T01:00Z 06-01T02:00Z"},
		{"@monthly", "2026-06-01", "07-01T00:00Z 08-01T00:00Z"},
		{"@yearly", "2026-06-01", "01-01T00:00Z 01-01T00:00Z"},
		{"@annually", "2026-06-01", "01-01T00:00Z 01-01T00:00Z"},
		{"\t0  9\t*  * * ", "2026-06-01", "06-01T09:00Z 06-02T09:00Z"},
		{"5/15 * * * *", "2026-06-01", "06-01T00:05Z 06-01T00:20Z 06-01T00:35Z 06-01T00:50Z 06-01T01:05Z"},
		{"*/40 * * * *", "2026-06-01", "06-01T00:40Z 06-01T01:00Z 06-01T01:40Z"},
		{"0 */5 * * *", "2026-06-01", "06-01T05:00Z 06-01T10:00Z 06-01T15:00Z 06-01T20:00Z 06-02T00:00Z"},
		{"0 0 31 4,5 *", "2026-06-01", "05-31T00:00Z 05-31T00:00Z"}, // D1
	} {
		t.Run(c.cron, func(t *testing.T) {
			t.Parallel()
			s := parse(t, periodic.Definition{Cron: c.cron, Zone: "UTC"})
			var got []string
			next := at(t, c.after)
			for range strings.FieldsSeq(c.want) {
				next = s.Next(next)
				got = append(got, next.Format("01-02T15:04Z"))
			}
			require.Equal(t, c.want, strings.Join(got, " "))
		})
	}
}
