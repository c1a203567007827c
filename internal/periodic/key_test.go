package periodic_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/ranura/ranura/internal/periodic"
)

func TestD5ISOWeekKeysAtNewYear(t *testing.T) {
	t.Parallel()
	s := parse(t, periodic.Definition{Cron: "@daily", Zone: "UTC", Key: periodic.ISOWeek})
	for date, want := range map[string]string{
		"2024-12-30": "2025-W01",
		"2025-12-28": "2025-W52",
		"2025-12-29": "2026-W01",
		"2026-12-27": "2026-W52",
		"2026-12-28": "2026-W53",
		"2026-12-31": "2026-W53",
		"2027-01-01": "2026-W53",
		"2027-01-03": "2026-W53",
		"2027-01-04": "2027-W01",
	} {
		require.Equal(t, want, s.At(at(t, date)).Key, date)
	}

	weekly := parse(t, periodic.Definition{Cron: "0 18 * * fri", Zone: "America/Mexico_City", Key: periodic.ISOWeek})
	seen := map[string]int{}
	for slot := range weekly.Slots(at(t, "2024-01-01"), at(t, "2034-01-01")) {
		seen[slot.Key]++
		require.Equal(t, 1, seen[slot.Key], slot.Key)
	}
	require.Len(t, seen, 522)
}

func TestKeysAreLabelsOfTheLocalDate(t *testing.T) {
	t.Parallel()
	friday := at(t, "2026-05-30T00:00") // Friday 18:00 in Mexico City
	for format, want := range map[periodic.KeyFormat]string{
		"":               "2026-05-30T00:00:00Z",
		periodic.Date:    "2026-05-29",
		periodic.ISOWeek: "2026-W22",
		periodic.Month:   "2026-05",
	} {
		s := parse(t, periodic.Definition{Cron: "0 18 * * 5", Zone: "America/Mexico_City", Key: format})
		slot := periodic.Slot{Name: "case", Key: want, At: friday}
		require.Equal(t, slot, s.At(friday))
		if format != periodic.Month { // five Fridays
			found, err := s.ForKey(want)
			require.NoError(t, err)
			require.Equal(t, slot, found)
		}
	}
}

func TestC3KeysOfARepeatedHourDiffer(t *testing.T) {
	t.Parallel()
	s := parse(t, periodic.Definition{Cron: "*/30 1 * * *", Zone: "America/New_York"})
	keys := map[string]bool{}
	for slot := range s.Slots(at(t, "2026-11-01"), at(t, "2026-11-02")) {
		keys[slot.Key] = true
	}
	require.Len(t, keys, 4)
}

func TestForKeyRefuses(t *testing.T) {
	t.Parallel()
	for _, c := range []struct {
		name, cron string
		format     periodic.KeyFormat
		key, want  string
	}{
		{"D5WeekOfALongYear", "@weekly", periodic.ISOWeek, "2025-W53", "2025 has the weeks 01 to 52"},
		{"D5WeekZero", "@weekly", periodic.ISOWeek, "2026-W00", "2026 has the weeks 01 to 53"},
		{"AnotherFormat", "@weekly", periodic.ISOWeek, "2026-05-29", `write it like "2026-W22"`},
		{"LooseWeek", "@weekly", periodic.ISOWeek, "2026-W1", `write it like "2026-W22"`},
		{"WeekAndMore", "@weekly", periodic.ISOWeek, "2026-W22x", `write it like "2026-W22"`},
		{"InstantWithOffset", "@daily", "", "2026-05-30T02:00:00+02:00", `write it like "2026-05-29T00:00:00Z"`},
		{"NotASlot", "@daily", "", "2026-05-30T00:00:01Z", `not a slot of "@daily" in UTC, the next one is "2026-05-31T00:00:00Z"`},
		{"NoSuchDate", "@daily", periodic.Date, "2026-02-30", `write it like "2026-05-29"`},
		{"EmptyPeriod", "0 0 31 * *", periodic.Month, "2026-06", `has no slot then, the next one is "2026-07"`},
		{"SeveralSlots", "@daily", periodic.Month, "2026-06", "gives 2026-06-01T00:00:00Z and 2026-06-02T00:00:00Z"},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			_, err := parse(t, periodic.Definition{Cron: c.cron, Zone: "UTC", Key: c.format}).ForKey(c.key)
			require.ErrorContains(t, err, c.want)
		})
	}
}

func TestForKeyFindsEverySlot(t *testing.T) {
	t.Parallel()
	for _, d := range []periodic.Definition{
		{Cron: "@weekly", Zone: "America/Santiago", Key: periodic.ISOWeek},
		{Cron: "@daily", Zone: "Pacific/Kiritimati", Key: periodic.Date},
		{Cron: "59 23 * * *", Zone: "Pacific/Pago_Pago", Key: periodic.Date},
		{Cron: "0 0 1 * *", Zone: "Europe/Berlin", Key: periodic.Month},
		{Cron: "0 */7 * * *", Zone: "Asia/Kolkata"},
	} {
		s := parse(t, d)
		for slot := range s.Slots(at(t, "2026-01-01"), at(t, "2027-02-01")) {
			found, err := s.ForKey(slot.Key)
			require.NoError(t, err)
			require.Equal(t, slot, found)
		}
	}
	week53, err := parse(t, periodic.Definition{Cron: "@weekly", Zone: "UTC", Key: periodic.ISOWeek}).ForKey("2026-W53") // D5
	require.NoError(t, err)
	require.Equal(t, at(t, "2027-01-03"), week53.At)
}

func TestCheckKeys(t *testing.T) {
	t.Parallel()
	from := at(t, "2026-06-01T12:00")
	for _, d := range []periodic.Definition{
		{Cron: "* * * * *", Zone: "UTC"},
		{Cron: "@daily", Zone: "America/Santiago", Key: periodic.Date},
		{Cron: "@weekly", Zone: "America/Santiago", Key: periodic.ISOWeek},
		{Cron: "0 0 29 2 *", Zone: "UTC", Key: periodic.Month},
	} {
		require.NoError(t, parse(t, d).CheckKeys(from))
	}
	err := parse(t, periodic.Definition{Cron: "@daily", Zone: "UTC", Key: periodic.ISOWeek}).CheckKeys(from)
	require.EqualError(t, err, `schedule "case": key format "iso_week" gives 2026-06-02T00:00:00Z and 2026-06-03T00:00:00Z of "@daily" the one key "2026-W23": use "instant" or a rarer cron`)

	// Greenland's gap ends at midnight: Saturday's slot falls on Sunday.
	err = parse(t, periodic.Definition{Cron: "30 23 * * *", Zone: "America/Nuuk", Key: periodic.Date}).CheckKeys(from)
	require.ErrorContains(t, err, `gives 2027-03-28T01:00:00Z and 2027-03-29T00:30:00Z of "30 23 * * *" the one key "2027-03-28"`)
}
