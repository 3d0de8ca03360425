//go:build linux

package verdict

import (
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"encoding/json"

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
	return judgeDump(t, p, filepath.Join(p.Dir, "core."+strconv.Itoa(pid)))
}

// fromSaved judges what --save kept.
func fromSaved(t testing.TB, p *harness.Program, pid int) *answer {
	t.Helper()
	file := filepath.Join(p.Dir, "saved")
	do(t, p.Dir, fpstack, "--save", file, "-o", filepath.Join(p.Dir, "dump"), "-p", strconv.Itoa(pid))
	return judgeDump(t, p, file)
}

// judgeDump takes the verdict from fpstack.dump/1: a dump has no other than its cycles.
func judgeDump(t testing.TB, p *harness.Program, args ...string) *answer {
	t.Helper()
	out := filepath.Join(p.Dir, "out.json")
	do(t, p.Dir, append(append([]string{fpstack}, args...), "-f", "json", "-o", out)...)
	var dump struct {
		Process struct{ PID int }
		Threads []struct {
			TID   int
			Wait  *struct{ Sort string }
			Stack struct{ Frames []frame }
		}
		Waits *struct {
			Cycles []struct {
				Kind    string
				Text    string
				Threads []int
			}
		}
	}
	text := read(t, out)
	if err := json.Unmarshal([]byte(text), &dump); err != nil {
		t.Fatal(err)
	}
	a := &answer{Verdict: &verdictOf{Kind: "unknown"}, text: text}
	if dump.Waits == nil || len(dump.Waits.Cycles) == 0 {
		return a
	}
	cycle := &dump.Waits.Cycles[0]
	a.Verdict.Kind, a.Verdict.Hung, a.Verdict.Sentence = cycle.Kind, cycle.Kind == "deadlock", cycle.Text
	who := &culpritOf{PID: dump.Process.PID, TID: cycle.Threads[0]}
	a.Verdict.Culprit = who
	for i := range dump.Threads {
		thread := &dump.Threads[i]
		if thread.TID != who.TID {
			continue
		}
		if at := slices.IndexFunc(thread.Stack.Frames, func(f frame) bool {
			return p.Files[filepath.Base(f.File)] != "" && !strings.HasPrefix(f.Function, "pthread_")
		}); at >= 0 {
			who.Frame = &thread.Stack.Frames[at]
		}
		if thread.Wait != nil {
			a.dumped = thread.Wait.Sort
		}
	}
	return a
}
