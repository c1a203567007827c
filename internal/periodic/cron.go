package periodic

import (
	"cmp"
	"errors"
	"fmt"
	"math/bits"
	"regexp"
	"strconv"
	"strings"
	"time"

	"github.com/netresearch/go-cron"
)

// maxCron is the longest cron text. A list of all 60 minutes has 169
// characters; what is longer is not an expression.
const maxCron = 256

var descriptors = map[string]string{
	"@annually": "0 0 1 1 *",
	"@daily":    "0 0 * * *",
	"@hourly":   "0 * * * *",
	"@midnight": "0 0 * * *",
	"@monthly":  "0 0 1 * *",
	"@weekly":   "0 0 * * 0",
	"@yearly":   "0 0 1 1 *",
}

// parseCron reads five fields, a descriptor or "@every". It refuses what two
// crons read in two ways, and what is no date at all: a schedule that does not
// do what its author meant is found out months later.
func parseCron(text string) (timetable, error) {
	parts := strings.FieldsFunc(text, func(r rune) bool { return r == ' ' || r == '\t' })
	switch {
	case len(text) > maxCron:
		return timetable{}, fmt.Errorf("has %d characters, at most %d are read", len(text), maxCron)
	case strings.Contains(strings.ToUpper(text), "TZ="):
		return timetable{}, errors.New("the zone has its own setting, take TZ= out of the expression")
	case len(parts) > 0 && parts[0] == "@every":
		return parseEvery(strings.Join(parts[1:], " "))
	case len(parts) == 1 && descriptors[parts[0]] != "":
		parts = strings.Fields(descriptors[parts[0]])
	case len(parts) > 0 && parts[0][0] == '@':
		return timetable{}, fmt.Errorf("unknown descriptor %q, use @hourly, @daily, @midnight, @weekly, @monthly, @yearly, @annually or @every 90m", parts[0])
	case len(parts) != 5:
		return timetable{}, fmt.Errorf("has %d fields, write 5: minute hour day-of-month month day-of-week (no seconds, no year)", len(parts))
	}
	return parseFields([5]string(parts))
}

func parseEvery(text string) (timetable, error) {
	d, err := time.ParseDuration(text)
	if err != nil {
		return timetable{}, fmt.Errorf("interval %q: write hours, minutes and seconds, such as 90m or 24h: %w", text, err)
	}
	if d < time.Second || d%time.Second != 0 || d > searchYears*365*24*time.Hour {
		return timetable{}, fmt.Errorf("interval %q: use whole seconds, at least 1s and at most %d years", text, searchYears)
	}
	return timetable{every: int64(d / time.Second), elapsed: true}, nil
}

func parseFields(texts [5]string) (timetable, error) {
	var sets [5]uint64
	for i, f := range cronFields {
		set, err := f.parse(texts[i])
		if err != nil {
			return timetable{}, fmt.Errorf("%s %q: %w", f.name, texts[i], err)
		}
		sets[i] = set
	}
	t := timetable{calendar: calendar{minute: sets[0], hour: sets[1], dom: sets[2], month: sets[3], dow: sets[4]}}
	t.elapsed = strings.ContainsAny(texts[0]+texts[1], "*/") || bits.OnesCount64(t.minute) == 60 || bits.OnesCount64(t.hour) == 24
	dom, dow := texts[2], texts[4]
	t.either = restricted(dom) && restricted(dow)
	if t.either && (dom[0] == '*' || dow[0] == '*') {
		return timetable{}, fmt.Errorf("day of month %q with day of week %q: crons disagree whether both or either must match, write the days as a list", dom, dow)
	}
	if _, ok := t.calendar.next(0); !ok {
		return timetable{}, fmt.Errorf("day of month %q with month %q: never fires, there is no such date", dom, texts[3])
	}
	return t, nil
}

func restricted(text string) bool { return text != "*" && text != "*/1" }

// A field is one of the five. Each is given to the library alone, so that an
// error can name it.
type field struct {
	name, values string
	option       cron.ParseOption
	set          func(*cron.SpecSchedule) uint64
}

var cronFields = [5]field{
	{"minute", "0-59", cron.Minute, func(s *cron.SpecSchedule) uint64 { return s.Minute }},
	{"hour", "0-23", cron.Hour, func(s *cron.SpecSchedule) uint64 { return s.Hour }},
	{"day of month", "1-31", cron.Dom, func(s *cron.SpecSchedule) uint64 { return s.Dom }},
	{"month", "1-12 or jan-dec", cron.Month, func(s *cron.SpecSchedule) uint64 { return s.Month }},
	{"day of week", "0-7 or sun-sat", cron.Dow, func(s *cron.SpecSchedule) uint64 { return s.Dow }},
}

var itemPattern = regexp.MustCompile(`^(?:\*|([0-9]{1,2}|[a-z]{3})(?:-([0-9]{1,2}|[a-z]{3}))?)(?:/([0-9]{1,2}))?$`)

// parse is stricter than the library, which drops empty list items, wraps
// ranges around and takes an upper-case THU for Jenkins' H.
func (f field) parse(text string) (uint64, error) {
	var set uint64
	items := strings.Split(strings.ToLower(text), ",")
	for _, item := range items {
		part := itemPattern.FindStringSubmatch(item)
		if part == nil || item == "*" && len(items) > 1 {
			return 0, fmt.Errorf("write *, or a list of values (%s), ranges (1-5) and steps (*/2); L, W, #, ? and H are not cron", f.values)
		}
		low, high, step := part[1], part[2], part[3]
		if f.option == cron.Dow && step != "" && high == "" {
			// The library counts a week of 8 days, 0 to 7, so */7 would be
			// Sundays and 1/2 would hit Sunday as day 7.
			low, high = cmp.Or(low, "0"), "6"
			item = low + "-6/" + step
		}
		if high != "" && f.number(low) > f.number(high) {
			return 0, fmt.Errorf("range %q runs backwards, write its values as a list", item)
		}
		one, err := f.library(item)
		if err != nil {
			return 0, fmt.Errorf("use %s: %w", f.values, err)
		}
		set |= one
	}
	return set, nil
}

// number is the value of one end of a range; what is none is left to the
// library to refuse.
func (f field) number(text string) int {
	if n, err := strconv.Atoi(text); err == nil {
		return n
	}
	set, _ := f.library(text)
	return bits.TrailingZeros64(set)
}

func (f field) library(text string) (uint64, error) {
	parsed, err := cron.MustNewParser(f.option).Parse(text)
	if err != nil {
		return 0, err
	}
	const star = 1 << 63 // the library's mark for "*"
	return f.set(parsed.(*cron.SpecSchedule)) &^ star, nil
}
