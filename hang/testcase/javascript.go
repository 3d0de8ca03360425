package testcase

import (
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/profile"
)

// anonymous is a function of JavaScript without a name.
const anonymous = "<anonymous>"

// script is the function of a script that a runner calls, with its file: names of tests are no names of functions.
func (f *finder) script(inner []profile.Frame) string {
	at := f.own("node:test", inner)
	if at == nil {
		return ""
	}
	name := f.relative(at.File) + ":" + strconv.Itoa(at.Line)
	if fn := strings.TrimPrefix(at.Func, profile.AsyncPrefix); fn != "" && fn != anonymous {
		name += " " + fn
	}
	return name
}

// ofJest reports whether a frame is one of those by which jest runs a test.
func ofJest(at *profile.Frame) bool {
	return strings.Contains(at.File, "/jest-circus/") || strings.Contains(at.File, "/jest-jasmine2/")
}

// place gives a test whose own frames are on no stack its file: one that waits for a promise may be apart from what
// its runner has called. Where no test is known the file stands for it.
func (f *finder) place(d *profile.Dump) {
	runner := f.waitingRunner(d)
	if runner == "" {
		return
	}
	switch files := f.files(d); {
	case len(f.found) == 0:
		for _, file := range files {
			f.add(Test{Runner: runner, Name: f.relative(file), File: file})
		}
	case len(f.found) == 1 && f.found[0].Runner == runner && f.found[0].File == "" && len(files) == 1:
		t := &f.found[0]
		t.Name, t.File = f.relative(files[0])+" "+t.Name, files[0]
	}
}

// files are those that a runner works on: what the event loop is to call tells them, or the command line does.
func (f *finder) files(d *profile.Dump) (all []string) {
	for i := range d.Threads {
		for _, call := range d.Threads[i].Loop.Called() {
			if isTestFile(call.File) && !slices.Contains(all, call.File) {
				all = append(all, call.File)
			}
		}
	}
	if len(all) == 0 {
		if all = f.scripts(); len(all) > 1 {
			return nil
		}
	}
	return all
}

// waitingRunner is the runner whose test waits, "" if the process is none: node:test starts a process for each file,
// and an async function of jest is suspended in it.
func (f *finder) waitingRunner(d *profile.Dump) string {
	if slices.Contains(f.p.Variables, "NODE_TEST_CONTEXT") {
		return "node:test"
	}
	for i := range d.FiberStacks {
		frames := d.FiberStacks[i].Stack.Frames
		if slices.ContainsFunc(frames, func(at profile.Frame) bool { return ofJest(&at) }) {
			return "jest"
		}
	}
	return ""
}

// isTestFile reports whether jest takes a file for one of tests, by its default for testMatch; node:test does too.
func isTestFile(file string) bool {
	base := path.Base(file)
	return !strings.Contains(file, "/node_modules/") && (strings.Contains(base, ".test.") ||
		strings.Contains(base, ".spec.") || strings.Contains(file, "/__tests__/"))
}

// scripts are the files of the user's own on the command line.
func (f *finder) scripts() (files []string) {
	for _, arg := range f.p.Args {
		switch path.Ext(arg) {
		case ".js", ".mjs", ".cjs", ".ts", ".mts", ".cts", ".jsx", ".tsx":
			if !strings.Contains(arg, "node_modules/") && !strings.HasPrefix(arg, "-") {
				files = append(files, arg)
			}
		}
	}
	return files
}
