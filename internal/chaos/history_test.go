package chaos

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	"github.com/ranura/ranura/internal/claim"
	"github.com/ranura/ranura/internal/workers"
)

// A kind says what an event tells about an attempt.
type kind string

const (
	began kind = "began" // the worker was entered
	ok    kind = "ok"    // COMMIT was answered
	fail  kind = "fail"  // rolled back
	info  kind = "info"  // the answer to COMMIT was lost: it may have committed
	noop  kind = "noop"  // somebody else had the claim
)

// An event is one line that a process wrote about an attempt.
type event struct {
	process string // the file's name: one for each start of a process
	at      time.Time
	kind    kind
	key     claim.Key
	nonce   string // of the attempt; "" if it ended before its worker was entered
	text    string // the error
}

// line is what the suite reads of a log line.
type line struct {
	Time                         time.Time
	Msg, Name, Key, Nonce, Error string
}

// readHistories reads what every process wrote. A line that is neither of the
// log nor the command's last word is reported: the history would not be whole.
func readHistories(folder string) (events []event, odd []string, err error) {
	files, err := filepath.Glob(filepath.Join(folder, "*.jsonl"))
	if err != nil {
		return nil, nil, err
	}
	for _, name := range files {
		file, err := os.Open(name)
		if err != nil {
			return nil, nil, err
		}
		more, strange, err := readHistory(filepath.Base(name), file)
		if err = errors.Join(err, file.Close()); err != nil {
			return nil, nil, fmt.Errorf("read history %s: %w", name, err)
		}
		events, odd = append(events, more...), append(odd, strange...)
	}
	return events, odd, nil
}

func readHistory(process string, from io.Reader) (events []event, odd []string, err error) {
	open := make(map[claim.Key][]string) // the nonces whose end is not written yet
	lines := bufio.NewScanner(from)
	lines.Buffer(nil, 1<<20)
	for lines.Scan() {
		var l line
		if word, ok := strings.CutPrefix(lines.Text(), "app: "); ok {
			l = line{Msg: slotFailed, Error: word}
		} else if err := json.Unmarshal(lines.Bytes(), &l); err != nil {
			odd = append(odd, process+": "+lines.Text())
			continue
		}
		e, about := l.event(process)
		if !about {
			continue
		}
		switch {
		case e.kind == began:
			open[e.key] = append(open[e.key], e.nonce)
		case e.kind != noop && !endedBefore.MatchString(e.text) && len(open[e.key]) > 0:
			e.nonce, open[e.key] = open[e.key][0], open[e.key][1:]
		}
		events = append(events, e)
	}
	return events, odd, lines.Err()
}

// The replica's log lines about the end of an attempt.
const (
	slotRan     = "slot ran"
	slotAlready = "slot already ran"
	slotFailed  = "slot failed"
)

var (
	claimed     = regexp.MustCompile(`claim ([a-z_]+)@(\S+): `)
	endedBefore = regexp.MustCompile(`claim \S+: (begin|take): |^read the policy of `)
	atCommit    = regexp.MustCompile(`claim \S+: commit: `)
)

func (l line) event(process string) (event, bool) {
	e := event{process: process, at: l.Time, key: claim.Key{Name: l.Name, Key: l.Key}, nonce: l.Nonce, text: l.Error}
	switch l.Msg {
	case probeBegan:
		e.kind = began
	case slotRan:
		e.kind = ok
	case slotAlready:
		e.kind = noop
	case slotFailed:
		e.kind = fail
		if atCommit.MatchString(l.Error) {
			e.kind = info
		}
		if found := claimed.FindStringSubmatch(l.Error); found != nil {
			e.key = claim.Key{Name: found[1], Key: found[2]}
		}
	default:
		return e, false
	}
	return e, true
}

// byHandLine is the line for what "app run" answered; why it failed it has
// written itself.
func byHandLine(name string, out []byte, failed error) string {
	var result workers.Result
	l := line{Time: time.Now(), Name: name, Msg: "run failed"}
	if failed == nil && json.Unmarshal(out, &result) == nil {
		l.Key, l.Msg = result.ClaimKey, slotAlready
		if result.Outcome == claim.Ran {
			l.Msg = slotRan
		}
	}
	text, _ := json.Marshal(l) // strings and a time
	return string(text)
}
