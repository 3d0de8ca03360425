//go:build linux

package verdict

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

// row is one program, and what is true of it.
type row struct {
	name  string
	needs []string // tools
	// files are those of testdata/programs that it consists of; C and Go are compiled.
	files []string
	texts map[string]string // further ones
	argv  []string
	env   []string
	input bool // its standard input is a pipe that somebody holds
	cpu   bool // it takes a CPU all the time
	ready string
	start func(t testing.TB, dir string)     // what runs beside it
	then  func(t testing.TB, dir string) int // see harness.Program
	by    judgement                          // how it is judged: nil is `hang -p`
	is    truth
}

// truth is what is so, whatever is said.
type truth struct {
	state state
	// kinds are the kinds of verdict that are right; none: all that agree with state.
	kinds []string
	// trigger is what must have made run capture: "none" if nothing may. "": it was asked.
	trigger string
	// culprit matches the command line of the process that somebody should look at first. "": nobody need be named.
	culprit string
	// marked: the process id of the culprit is also in the file culprit of its folder, as others have its command line.
	marked bool
	// function matches the name of the innermost function of the user's own code. Where a file of the row has lines
	// with HERE, it is one of these lines. "": there is none, or none that could be known.
	function string
	// test is the one that it is in, as its runner takes it. "": it is in none, or its name may be any.
	test string
	// waits are the sorts of what the culprit waits for, as fpstack.waits/1 has them; none: it is no wait of a thread.
	waits []string
}

// state is whether a program hangs.
type state string

const (
	hangs   state = "hung"
	healthy state = "healthy"
	// spins: it does the same all the time. Whether that ever ends nobody can know, so that both are right.
	spins state = "spins"
)

// program is what the harness starts.
func (r *row) program(t testing.TB) *harness.Program {
	t.Helper()
	files := map[string]string{}
	for name, text := range r.texts {
		files[name] = text
	}
	for _, name := range r.files {
		text, err := os.ReadFile(filepath.Join("testdata/programs", name))
		if err != nil {
			t.Fatal(err)
		}
		files[name] = string(text)
	}
	return &harness.Program{Files: files, Argv: r.argv, Env: r.env, Input: r.input, Ready: r.ready, Start: r.start,
		Then: r.then}
}

// rows are all of them.
var rows = concat(nativeRows, pythonRows, goRows, nodeRows, javaRows, dotnetRows, buildRows, serverRows, kernelRows,
	runRows, savedRows)

func concat(tables ...[]row) []row {
	var all []row
	for _, t := range tables {
		all = append(all, t...)
	}
	return all
}
