//go:build ignore

// Count reads `go test -json` from standard input, shows what a reader needs
// (a line for each package, and all that a failing test said), and writes the
// counts to the file named by its argument: "N passed, N failed, N skipped".
//
// It counts leaves: a test with subtests is not counted beside them, except
// when it failed and none of them did. A package that failed without a failing
// test (it did not build, or its process died) counts as one failed.
package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"os"
	"strings"
)

type event struct{ Action, Package, Test, Output string }

type test struct{ pkg, name string } // the package itself has no name

type counter struct {
	output   map[test]string
	ended    map[test]string // pass, fail or skip
	hasChild map[test]bool
	failedIn map[test]bool // something below it failed
}

func main() {
	c := counter{map[test]string{}, map[test]string{}, map[test]bool{}, map[test]bool{}}
	lines := bufio.NewReader(os.Stdin)
	for {
		line, err := lines.ReadBytes('\n')
		if err != nil {
			break
		}
		var e event
		if json.Unmarshal(line, &e) != nil {
			e = event{Action: "build-output", Output: string(line)}
		}
		c.add(e)
	}
	if err := os.WriteFile(os.Args[1], []byte(c.String()+"\n"), 0o600); err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

func (c counter) add(e event) {
	t := test{e.Package, e.Test}
	switch e.Action {
	case "run":
		for up := parent(t); up.name != ""; up = parent(up) {
			c.hasChild[up] = true
		}
	case "build-output":
		fmt.Print(e.Output)
	case "output":
		if t.name == "" && e.Output != "PASS\n" && e.Output != "FAIL\n" {
			fmt.Print(e.Output)
		}
		c.output[t] += e.Output
	case "pass", "skip", "fail":
		c.ended[t] = e.Action
		if e.Action == "fail" && t.name != "" {
			fmt.Print(c.output[t])
			for up := parent(t); ; up = parent(up) {
				c.failedIn[up] = true
				if up.name == "" {
					break
				}
			}
		}
		delete(c.output, t)
	}
}

func (c counter) String() string {
	n := map[string]int{}
	for t, action := range c.ended {
		leaf := t.name != "" && !c.hasChild[t]
		if leaf || action == "fail" && !c.failedIn[t] {
			n[action]++
		}
	}
	return fmt.Sprintf("%d passed, %d failed, %d skipped", n["pass"], n["fail"], n["skip"])
}

// parent is the test that t is a subtest of, or else its package.
func parent(t test) test {
	up := strings.LastIndexByte(t.name, '/')
	return test{t.pkg, t.name[:max(up, 0)]}
}
