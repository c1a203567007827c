package workers

import (
	"errors"
	"fmt"
	"regexp"
	"strings"

	"github.com/ranura/ranura/internal/periodic"
)

// What Postgres reads as one piece, in which $slot would be no parameter. A
// comment in /* */ and a text between $dollars$ end where no expression can say.
const word = `[A-Za-z_\x{80}-\x{10FFFF}][A-Za-z0-9_$\x{80}-\x{10FFFF}]*`

var (
	comment = regexp.MustCompile(`^--[^\r\n]*`)
	blank   = regexp.MustCompile(`^[\s;]+`)
	piece   = regexp.MustCompile(`(?s)^(?:[eE]'(?:[^'\\]|\\.|'')*'?|'[^']*'?|"[^"]*"?|` + word + `)`)
	dollar  = regexp.MustCompile(`^\$(?:[A-Za-z_\x{80}-\x{10FFFF}][A-Za-z0-9_\x{80}-\x{10FFFF}]*)?\$`)
	param   = regexp.MustCompile(`^\$[A-Za-z0-9_]+`)
)

// bind puts numbered parameters in the place of $slot and $key, for the slot is
// a value and never a part of the text. It reads the statement as the server
// does, with standard_conforming_strings on; what is no SQL is left for the
// server to refuse.
func bind(statement string, slot periodic.Slot) (sql string, args []any, err error) {
	var out strings.Builder
	numbers := make(map[string]string)
	empty := true
	for rest := statement; rest != ""; {
		token := next(rest)
		rest = rest[len(token):]
		name := param.FindString(token)
		empty = empty && (comment.MatchString(token) || strings.HasPrefix(token, "/*") || blank.MatchString(token))
		if name != token || name == "" {
			out.WriteString(token)
			continue
		}
		if numbers[name] == "" {
			switch name {
			case "$slot":
				args = append(args, slot.At)
				numbers[name] = fmt.Sprintf("($%d::timestamptz)", len(args))
			case "$key":
				args = append(args, slot.Key)
				numbers[name] = fmt.Sprintf("($%d::text)", len(args))
			default:
				return "", nil, fmt.Errorf("sql: parameter %.40s: there are $slot and $key", name)
			}
		}
		out.WriteString(numbers[name])
	}
	if empty {
		return "", nil, errors.New("sql: there is no statement")
	}
	return out.String(), args, nil
}

// next is the first piece of a statement, which has one.
func next(rest string) string {
	if strings.HasPrefix(rest, "/*") {
		return rest[:commentEnd(rest)]
	}
	if tag := dollar.FindString(rest); tag != "" {
		if end := strings.Index(rest[len(tag):], tag); end >= 0 {
			return rest[:len(tag)+end+len(tag)]
		}
		return rest
	}
	for _, kind := range []*regexp.Regexp{comment, blank, piece, param} {
		if found := kind.FindString(rest); found != "" {
			return found
		}
	}
	return rest[:1]
}

// commentEnd is where a comment ends that may have others inside.
func commentEnd(text string) int {
	depth := 0
	for i := 0; i+1 < len(text); i++ {
		switch text[i : i+2] {
		case "/*":
			depth++
			i++
		case "*/":
			depth--
			i++
		}
		if depth == 0 {
			return i + 1
		}
	}
	return len(text)
}
