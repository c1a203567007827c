package periodic

import (
	"errors"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"time"
)

// A Definition says when a schedule's slots are, as the registry and the
// worker_schedules table hold it. It is plain data; [Parse] makes it work.
type Definition struct {
	Cron string    // five fields, a descriptor such as "@daily", or "@every 90m"
	Zone string    // an IANA name, "America/Mexico_City"; never empty, never "Local"
	Key  KeyFormat // how slots are named; "" is Instant
	Gap  Gap       // "" is the rule of the schedule's kind, see Gap
	Fold Fold      // "" is the rule of the schedule's kind, see Fold

	Policy
}

// DefinitionColumns are the columns of worker_schedules that hold a definition,
// in the order of [Definition.Targets].
const DefinitionColumns = `cron, zone, key_format, gap, fold,
       catch_up, max_lateness, max_count, overlap, give_up_after, timeout, min_effects`

// Targets are what a row's [DefinitionColumns] are scanned into.
func (d *Definition) Targets() []any {
	return []any{&d.Cron, &d.Zone, &d.Key, &d.Gap, &d.Fold,
		&d.CatchUp, &d.MaxLateness, &d.MaxCount, &d.Overlap, &d.GiveUpAfter, &d.Timeout, &d.MinEffects}
}

// KeyFormat says how a schedule names its slots. The period formats are labels
// of the slot's local date in the schedule's zone; a schedule that has two
// slots in one period cannot use them, see [Schedule.CheckKeys].
type KeyFormat string

// The key formats.
const (
	Instant KeyFormat = "instant"  // "2026-05-30T00:00:00Z", always UTC
	Date    KeyFormat = "date"     // "2026-05-29"
	ISOWeek KeyFormat = "iso_week" // "2026-W22", with the ISO year: 2025-12-29 is "2026-W01"
	Month   KeyFormat = "month"    // "2026-05"
)

// Gap says what becomes of a wall time that the zone skips, as when clocks go
// from 02:00 to 03:00.
//
// Left empty, a schedule with fixed hours and minutes gets RunAfterGap, and
// one with a "*" or a step in either (or with every hour or every minute
// listed) follows elapsed time and gets SkipGap: nothing is lost, since no
// time passes in a gap. That is the rule of ISC and Debian cron. A value that
// is set overrides it for either kind. "@every" has no wall times to skip.
type Gap string

// The rules for a gap.
const (
	RunAfterGap Gap = "run"  // one slot at the first instant after the gap, however many wall times it swallowed
	SkipGap     Gap = "skip" // no slot for the skipped wall times
)

// Fold says which instants a wall time names that the zone repeats, as when
// clocks go from 02:00 back to 01:00.
//
// Left empty, a schedule with fixed hours and minutes gets FirstInFold, and
// one that follows elapsed time (see [Gap]) gets BothInFold, so that "*/15"
// keeps its beat. A value that is set overrides it for either kind: FirstInFold
// silences "*/15" for the repeated hour, which [Schedule.Warnings] says.
type Fold string

// The rules for a fold.
const (
	FirstInFold  Fold = "first"
	SecondInFold Fold = "second"
	BothInFold   Fold = "both"
)

var namePattern = regexp.MustCompile(`^[a-z0-9_.-]{1,100}$`)

// CheckName refuses what cannot be the name of a worker.
func CheckName(name string) error {
	if !namePattern.MatchString(name) {
		return errors.New("name must be 1 to 100 of a-z, 0-9, _, . and -")
	}
	return nil
}

// Parse checks everything about the definition and compiles it under the
// schedule's name. The schedule's Definition has its defaults filled in, so
// that what is stored does not change meaning with a later default.
//
// An error is one line: the schedule, the text at fault, what to write instead.
func Parse(name string, d Definition) (Schedule, error) {
	if err := CheckName(name); err != nil {
		return Schedule{}, fmt.Errorf("schedule %.100q: %w", name, err)
	}
	s := Schedule{Name: name, Definition: d}
	if err := compile(&s); err != nil {
		return Schedule{}, fmt.Errorf("schedule %q: %w", name, err)
	}
	return s, nil
}

func compile(s *Schedule) (err error) {
	if s.timetable, err = parseCron(s.Cron); err != nil {
		return fmt.Errorf("cron %.40q: %w", s.Cron, err)
	}
	if s.location, err = loadZone(s.Zone); err != nil {
		return fmt.Errorf("cron %q: zone %.64q: %w", s.Cron, s.Zone, err)
	}
	gap, fold := RunAfterGap, FirstInFold
	if s.elapsed {
		gap, fold = SkipGap, BothInFold
	}
	if s.every > 0 && (s.Gap != "" && s.Gap != gap || s.Fold != "" && s.Fold != fold) {
		return fmt.Errorf("cron %q: gap %q and fold %q: an interval has no wall times, leave both empty", s.Cron, s.Gap, s.Fold)
	}
	if s.Key, err = choose(s.Key, Instant, Instant, Date, ISOWeek, Month); err != nil {
		return fmt.Errorf("cron %q: key %w", s.Cron, err)
	}
	if s.Gap, err = choose(s.Gap, gap, RunAfterGap, SkipGap); err != nil {
		return fmt.Errorf("cron %q: gap %w", s.Cron, err)
	}
	if s.Fold, err = choose(s.Fold, fold, FirstInFold, SecondInFold, BothInFold); err != nil {
		return fmt.Errorf("cron %q: fold %w", s.Cron, err)
	}
	if err := s.fill(); err != nil {
		return fmt.Errorf("cron %q: %w", s.Cron, err)
	}
	return nil
}

// choose returns the default for an empty value and refuses an unknown one.
func choose[T ~string](value, byDefault T, known ...T) (T, error) {
	if value == "" {
		return byDefault, nil
	}
	if !slices.Contains(known, value) {
		return "", fmt.Errorf("%.40q: use one of %q", value, known)
	}
	return value, nil
}

// zonePattern lets through what IANA calls a zone. It refuses what the system's
// files add to it: "localtime" (the host's zone) and the trees "posix/" and
// "right/" (the latter counts leap seconds).
var zonePattern = regexp.MustCompile(`^[A-Z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*$`)

func loadZone(name string) (*time.Location, error) {
	switch {
	case strings.TrimSpace(name) == "":
		return nil, fmt.Errorf("name one, such as %q or %q; the host's zone is never used", "Europe/Berlin", "UTC")
	case name == "Local" || name == "localtime":
		return nil, fmt.Errorf("is whatever the host says, name a place, such as %q, or %q", "Europe/Berlin", "UTC")
	case !zonePattern.MatchString(name):
		return nil, fmt.Errorf("not an IANA name, write it like %q", "Europe/Berlin")
	}
	location, err := time.LoadLocation(name)
	if err != nil {
		return nil, fmt.Errorf("write an IANA name, such as %q: %w", "Europe/Berlin", err)
	}
	return location, nil
}
