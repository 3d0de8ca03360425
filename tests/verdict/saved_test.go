//go:build linux

package verdict

import (
	"path/filepath"
	"strconv"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

// Core files and saved stacks.
var savedRows = []row{
	{name: "core of two locks in two orders", needs: append(gcc, "gcore"), files: one("abba.c"),
		argv:  []string{"./abba"},
		ready: "ready", by: fromCore,
		is: truth{state: hangs, kinds: deadlock, culprit: "abba", function: "deposit|withdraw", waits: mutex}},
	{name: "core of a lock that is taken", needs: append(gcc, "gcore"), files: one("self.c"),
		argv:  []string{"./self"},
		ready: "ready", by: fromCore,
		is: truth{state: hangs, kinds: deadlock, culprit: "self", function: "refresh", waits: mutex}},
	{name: "core of two RLocks of Python", needs: append(python, "gcore"), files: one("abba.py"), ready: "ready",
		argv: []string{"python3", "abba.py", "RLock"}, by: fromCore,
		is: truth{state: hangs, kinds: deadlock, culprit: "abba.py", function: "take"}},
	{name: "saved two locks in two orders", needs: gcc, files: one("abba.c"), argv: []string{"./abba"},
		ready: "ready",
		by:    fromSaved, is: truth{state: hangs, kinds: deadlock, culprit: "abba", function: "deposit|withdraw",
			waits: mutex}},
	{name: "saved two RLocks of Python", needs: python, files: one("abba.py"), ready: "ready", by: fromSaved,
		argv: []string{"python3", "abba.py", "RLock"},
		is:   truth{state: hangs, kinds: deadlock, culprit: "abba.py", function: "take"}},
	{name: "healthy core of an idle pool", needs: append(gcc, "gcore"), files: one("pool.c"),
		argv:  []string{"./pool"},
		ready: "ready", by: fromCore, is: truth{state: healthy}},
	{name: "healthy saved locks that change hands", needs: gcc, files: one("pingpong.c"),
		argv:  []string{"./pingpong"},
		ready: "ready", by: fromSaved, is: truth{state: healthy}},
}

// fromCore judges a core file that gdb wrote.
func fromCore(t testing.TB, p *harness.Program, pid int) *answer {
	t.Helper()
	do(t, p.Dir, "gcore", "-o", "core", strconv.Itoa(pid))
	return ask(t, "hang", "-f", "json", filepath.Join(p.Dir, "core."+strconv.Itoa(pid)))
}

// fromSaved judges what --save kept.
func fromSaved(t testing.TB, p *harness.Program, pid int) *answer {
	t.Helper()
	file := filepath.Join(p.Dir, "saved")
	do(t, p.Dir, fpstack, "--save", file, "-o", filepath.Join(p.Dir, "dump"), "-p", strconv.Itoa(pid))
	return ask(t, "hang", "-f", "json", file)
}
