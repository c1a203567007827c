package periodic_test

import (
	"fmt"
	"time"

	"github.com/ranura/ranura/internal/periodic"
)

// A daily schedule on the weekend when New York's clocks go forward: 02:30 does
// not exist on the 8th, and the slot is the first instant after the gap.
func ExampleParse() {
	digest, err := periodic.Parse("digest", periodic.Definition{Cron: "30 2 * * *", Zone: "America/New_York"})
	if err != nil {
		panic(err)
	}
	t := time.Date(2026, 3, 7, 0, 0, 0, 0, time.UTC)
	for range 3 {
		t = digest.Next(t)
		fmt.Println(t.Format(time.RFC3339))
	}

	_, err = periodic.Parse("digest", periodic.Definition{Cron: "60 2 * * *", Zone: "America/New_York"})
	fmt.Println(err)
	// Output:
	// 2026-03-07T07:30:00Z
	// 2026-03-08T07:00:00Z
	// 2026-03-09T06:30:00Z
	// schedule "digest": cron "60 2 * * *": minute "60": use 0-59: end of range (60) above maximum (59): "60"
}

// A slot keeps its key however late it runs, and the key leads back to it.
func ExampleSchedule_ForKey() {
	weekly, err := periodic.Parse("leaderboard_close", periodic.Definition{
		Cron: "0 18 * * fri", Zone: "America/Mexico_City", Key: periodic.ISOWeek,
	})
	if err != nil {
		panic(err)
	}
	wednesday := time.Date(2026, 6, 3, 16, 0, 0, 0, time.UTC)
	slot, _ := weekly.Latest(wednesday)
	fmt.Println(slot.Key, slot.At.Format(time.RFC3339))

	slot, _ = weekly.ForKey("2026-W22")
	fmt.Println(slot.Key, slot.At.Format(time.RFC3339))

	_, err = weekly.ForKey("2025-W53")
	fmt.Println(err)
	// Output:
	// 2026-W22 2026-05-30T00:00:00Z
	// 2026-W22 2026-05-30T00:00:00Z
	// schedule "leaderboard_close": key "2025-W53": 2025 has the weeks 01 to 52
}
