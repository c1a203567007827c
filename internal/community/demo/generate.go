package demo

import (
	"math/rand/v2"
	"strings"
	"time"

	"github.com/ranura/ranura/internal/community"
)

const (
	day         = 24 * time.Hour
	squadSize   = 10
	threadCount = 80
)

type member struct {
	id       int64
	handle   string
	name     string
	joinedOn time.Time
	isBot    bool
}

type scored struct {
	memberID int64
	points   int
	at       time.Time
}

type thread struct {
	id, section, author int64
	title               string
	at                  time.Time
}

type reply struct {
	thread, author int64
	body           string
	at             time.Time
}

// A town is the generated community. Of its members only the last is a bot.
type town struct {
	members  []member
	coins    []int64 // by member: the balance so far
	activity []scored
	threads  []thread
	replies  []reply
}

func generate(slot time.Time) town {
	random := rand.New(rand.NewPCG(2026, 22)) //nolint:gosec // The same community every time is the point.
	var t town
	t.addMembers(random, slot)
	t.addActivity(random, slot)
	t.addContest(slot)
	t.addThreads(random, slot)
	return t
}

var asciiHandle = strings.NewReplacer("á", "a", "é", "e", "í", "i", "ó", "o", "ú", "u")

func (t *town) addMembers(random *rand.Rand, slot time.Time) {
	for _, last := range lastNames {
		for _, first := range firstNames {
			t.members = append(t.members, member{
				id:       int64(len(t.members) + 1),
				handle:   asciiHandle.Replace(strings.ToLower(first + "_" + last)),
				name:     first + " " + last,
				joinedOn: slot.AddDate(0, 0, -31-random.IntN(1500)),
			})
			t.coins = append(t.coins, int64(5*(1+random.IntN(10))))
		}
	}
	t.members[6].joinedOn = slot.AddDate(-2, 0, 0) // somebody celebrates on the day of the slot
	t.members = append(t.members, member{
		id: int64(len(t.members) + 1), handle: community.ModeratorHandle, name: "Moderador", joinedOn: slot.AddDate(-5, 0, 0), isBot: true,
	})
}

// people are the members who are not bots.
func (t *town) people() []member { return t.members[:len(t.members)-1] }

// addActivity gives a busy member up to 24 activities in the month; every
// fifth squad is quiet, so that some leaders hear of it.
func (t *town) addActivity(random *rand.Rand, slot time.Time) {
	for i, m := range t.people() {
		times := random.IntN(25)
		if i/squadSize%5 == 4 {
			times = random.IntN(4)
		}
		for range times {
			before := 6*time.Hour + time.Duration(random.Int64N(int64(30*day-6*time.Hour)))
			t.activity = append(t.activity, scored{m.id, 1 + random.IntN(5), slot.Add(-before).Truncate(time.Second)})
		}
	}
}

// addContest decides the week in its last hours. First place is clear; two
// members share the second total, and the greater id reached it first. Two
// more would win if the week's edges were wrong: it is [slot - 7 days, slot).
func (t *town) addContest(slot time.Time) {
	totals := weekTotals(t.activity, slot)
	best := 0
	for _, total := range totals {
		best = max(best, total.points)
	}
	reach := func(id int64, total int, before time.Duration) {
		t.activity = append(t.activity, scored{id, total - totals[id].points, slot.Add(-before)})
	}
	reach(137, best+10, 3*time.Hour)
	reach(23, best+10, 2*time.Hour)
	reach(42, best+20, time.Hour)
	t.activity = append(t.activity,
		scored{77, 500, slot},
		scored{78, 500, slot.AddDate(0, 0, -7).Add(-time.Second)})
}

// addThreads spreads threads over 60 days. Every other thread is answered, so
// that some have been silent for more than 30 days.
func (t *town) addThreads(random *rand.Rand, slot time.Time) {
	people := int64(len(t.people()))
	for i := range int64(threadCount) {
		at := slot.Add(-60*day + time.Duration(i)*18*time.Hour)
		t.threads = append(t.threads, thread{
			id: i + 1, section: 1 + random.Int64N(int64(len(sectionNames))), author: 1 + random.Int64N(people),
			title: topics[random.IntN(len(topics))], at: at,
		})
		for n := range i % 2 * (1 + random.Int64N(6)) {
			t.replies = append(t.replies, reply{
				thread: i + 1, author: 1 + random.Int64N(people),
				body: answers[random.IntN(len(answers))], at: at.Add(time.Duration(n+1) * time.Hour),
			})
		}
	}
}
