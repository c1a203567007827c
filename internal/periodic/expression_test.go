package periodic_test

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"time"
)

// An expression is drawn as sets of values and only then written as text, so
// that the oracle needs no cron parser.
type expression struct {
	fields  [5][]int // nil is "*"
	text    string
	elapsed bool
}

func (e expression) matches(wall time.Time) bool {
	has := func(i, value int) bool { return e.fields[i] == nil || slices.Contains(e.fields[i], value) }
	dom, dow := has(2, wall.Day()), has(4, int(wall.Weekday()))
	onDay := dom && dow
	if e.fields[2] != nil && e.fields[4] != nil {
		onDay = dom || dow
	}
	return onDay && has(0, wall.Minute()) && has(1, wall.Hour()) && has(3, int(wall.Month()))
}

func draw(r *rand.Rand) expression {
	var e expression
	texts := make([]string, 5)
	low, high := [5]int{0, 0, 1, 1, 0}, [5]int{59, 23, 31, 12, 6}
	for i := range e.fields {
		switch {
		case i < 2 && r.IntN(8) < 2, i >= 2 && r.IntN(3) > 0: // not the draw of the next case
			texts[i] = "*"
			e.elapsed = e.elapsed || i < 2
		case i < 2 && r.IntN(4) == 0:
			step := 2 + r.IntN(high[i]/2)
			texts[i], e.elapsed = fmt.Sprintf("*/%d", step), true
			for v := low[i]; v <= high[i]; v += step {
				e.fields[i] = append(e.fields[i], v)
			}
		default:
			var list []string
			for range 1 + r.IntN(3) {
				v := low[i] + r.IntN(high[i]-low[i]+1)
				if i == 1 {
					v = r.IntN(5) // most changes of the clock happen before 05:00
				}
				e.fields[i] = append(e.fields[i], v)
				list = append(list, fmt.Sprint(v))
			}
			texts[i] = strings.Join(list, ",")
		}
	}
	e.text = strings.Join(texts, " ")
	return e
}
