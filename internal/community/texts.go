package community

import (
	"fmt"
	"time"
)

var months = [...]string{"Ene", "Feb", "Mar", "Abr", "May", "Jun", "Jul", "Ago", "Sep", "Oct", "Nov", "Dic"}

// date is the date of t in its own location as members read it: "29 May 2026",
// "1 Ene 2027". Spanish like every other text for them.
func date(t time.Time) string {
	return fmt.Sprintf("%d %s %d", t.Day(), months[t.Month()-1], t.Year())
}
