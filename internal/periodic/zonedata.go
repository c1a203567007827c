package periodic

import (
	"time"
	_ "time/tzdata" // zones work in an empty image
)

// ZoneData says how new the zone data in use is: "2025b or newer", or "older
// than 2022f". It looks at what the data knows, because nothing else is honest:
// Go prefers $ZONEINFO and the system's files to its embedded copy, zone by
// zone, and neither carries a version that can be asked for. It reads files.
func ZoneData() string {
	for _, news := range zoneNews {
		location, err := time.LoadLocation(news.zone)
		if err != nil {
			continue
		}
		if _, offset := time.Unix(news.at, 0).In(location).Zone(); offset == news.offset {
			return news.release + " or newer"
		}
	}
	return "older than " + zoneNews[len(zoneNews)-1].release
}

// zoneNews are changes of law that arrived with an IANA release, newest first:
// an instant at which the release before still had another offset.
var zoneNews = []struct {
	release, zone string
	at            int64
	offset        int
}{
	{"2025b", "America/Coyhaique", 1751328000, -3 * 3600},   // Aysén stays on summer time; 2025-07-01
	{"2025a", "America/Asuncion", 1751328000, -3 * 3600},    // Paraguay too; 2025-07-01
	{"2024a", "Asia/Almaty", 1719792000, 5 * 3600},          // Kazakhstan is one zone; 2024-07-01
	{"2022f", "America/Mexico_City", 1688169600, -6 * 3600}, // Mexico ends summer time; 2023-07-01
}
