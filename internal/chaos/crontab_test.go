package chaos

import (
	"os"
	"time"

	"github.com/ranura/ranura/internal/periodic"
	"github.com/ranura/ranura/internal/workers"
)

// traits say what a probe does with its slots.
type traits struct {
	name     string
	period   time.Duration // its slots are the multiples of it since the Unix epoch
	zone     string        // "" is UTC
	takes    time.Duration // how long its transaction works
	waiting  bool          // ... in the replica instead of in the database
	fails    float64       // the share of attempts that fail on purpose
	clash    int           // 1 and -1 lock the same rows in opposite orders
	enqueues bool          // enqueues a job of follows in its transaction
	overlap  periodic.Overlap
}

// described is a type that stands for its traits: each River kind needs a type
// of its own.
type described interface{ traits() traits }

type (
	briskly   struct{}
	changes   struct{}
	clashDown struct{}
	clashUp   struct{}
	flaky     struct{}
	follows   struct{}
	leads     struct{}
	lengthy   struct{}
	minutely  struct{}
	newcomer  struct{}
	oneByOne  struct{}
	quickly   struct{}
	skipping  struct{}
	slowly    struct{}
	steadily  struct{}
	zoned     struct{}
)

const second = time.Second

func (briskly) traits() traits { return traits{name: "briskly", period: second} }
func (clashDown) traits() traits {
	return traits{name: "clash_down", period: 10 * second, clash: -1}
}
func (clashUp) traits() traits { return traits{name: "clash_up", period: 10 * second, clash: 1} }
func (flaky) traits() traits   { return traits{name: "flaky", period: 2 * second, fails: 0.2} }
func (follows) traits() traits { return traits{name: "follows", period: 3 * second} }
func (leads) traits() traits   { return traits{name: "leads", period: 3 * second, enqueues: true} }
func (lengthy) traits() traits {
	return traits{name: "lengthy", period: 5 * second, takes: 3 * second, waiting: true}
}
func (minutely) traits() traits { return traits{name: "minutely", period: time.Minute} }
func (newcomer) traits() traits { return traits{name: "newcomer", period: 2 * second} }

// A turn that its replica takes to the grave comes back after the hand-back, and
// the others wait for it: there must be time to catch up.
func (oneByOne) traits() traits {
	return traits{name: "one_by_one", period: 3 * second, takes: second / 2, overlap: periodic.Wait}
}
func (quickly) traits() traits { return traits{name: "quickly", period: second} }
func (skipping) traits() traits {
	return traits{name: "skipping", period: 3 * second, takes: 4 * second, overlap: periodic.Skip}
}
func (slowly) traits() traits {
	return traits{name: "slowly", period: 2 * second, takes: second / 2}
}
func (steadily) traits() traits { return traits{name: "steadily", period: second} }
func (zoned) traits() traits {
	return traits{name: "zoned", period: time.Minute, zone: "America/Mexico_City"}
}

// changes has another definition in the second version.
func (changes) traits() traits { return changed(version()) }

func changed(version string) traits {
	if version == secondVersion {
		return traits{name: "changes", period: 3 * second}
	}
	return traits{name: "changes", period: 2 * second}
}

// The versions of the app: the second has a changed schedule and a kind that
// the first does not know. The one for clocks has a single schedule, without
// any trouble of its own.
const (
	versionEnv    = "RANURA_CHAOS_VERSION"
	firstVersion  = "1"
	secondVersion = "2"
	clockVersion  = "clock"
)

func version() string { return os.Getenv(versionEnv) }

// crontab is what the replicas of this process's version serve.
func crontab() []workers.Entry {
	if version() == clockVersion {
		return []workers.Entry{on[steadily]()}
	}
	entries := []workers.Entry{
		on[briskly](), on[changes](), on[clashDown](), on[clashUp](), on[flaky](), on[follows](), on[leads](), on[lengthy](),
		on[minutely](), on[oneByOne](), on[quickly](), on[skipping](), on[slowly](), on[steadily](), on[zoned](),
	}
	if version() == secondVersion {
		entries = append(entries, on[newcomer]())
	}
	return entries
}

// stable are the traits that do not depend on the version.
func stable() []traits {
	return []traits{
		briskly{}.traits(), clashDown{}.traits(), clashUp{}.traits(), flaky{}.traits(), follows{}.traits(), leads{}.traits(), lengthy{}.traits(),
		minutely{}.traits(), oneByOne{}.traits(), quickly{}.traits(), skipping{}.traits(), slowly{}.traits(), steadily{}.traits(), zoned{}.traits(),
	}
}

func on[T described]() workers.Entry {
	var t T
	return workers.On(probe[T]{}, t.traits().definition())
}

func (t traits) definition() periodic.Definition {
	definition := periodic.Definition{Cron: "@every " + t.period.String(), Zone: "UTC"}
	if t.period == time.Minute {
		definition.Cron = "* * * * *"
	}
	if t.zone != "" {
		definition.Zone = t.zone
	}
	definition.Overlap = t.overlap
	definition.MaxCount = 1000 // no fault is so long that the policy may drop a slot
	return definition
}

// punctual says that nothing but a fault makes a slot late.
func (t traits) punctual() bool {
	return t.fails == 0 && t.clash == 0 && t.overlap == ""
}
