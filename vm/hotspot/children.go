package hotspot

import (
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/waits"
)

// Names of what waits for processes that Java has started: the methods of a thread that wants one to end, those of the
// thread that waits for it in the kernel, and the field with its number.
// Source: ProcessImpl.java and ProcessHandleImpl.java, of JDK 8 UNIXProcess.java, in java/lang.
var (
	childWaits = []string{"java.lang.ProcessImpl.waitFor", "java.lang.UNIXProcess.waitFor"}
	reaps      = []string{"java.lang.ProcessHandleImpl.waitForProcessExit0", "java.lang.UNIXProcess.waitForProcessExit"}
)

const childField = "pid"

// child adds the process whose end thread number i waits for: another thread of Java waits for it in the kernel, and
// will wake this one.
func (g *graph) child(i int, s *unwind.Stack) bool {
	if !slices.ContainsFunc(childWaits, func(n string) bool { return g.in(s, n) }) {
		return false
	}
	pid, known := g.childOf(i)
	reaper := -1
	for k := range g.all {
		if k == i || !slices.ContainsFunc(reaps, func(n string) bool { return g.in(g.stacks[k], n) }) {
			continue
		}
		call := g.threads[k].Syscall
		if known && (call == nil || !slices.Contains(call.Args[:2], pid)) {
			continue
		}
		if reaper >= 0 {
			return false // which of them is not known
		}
		reaper = k
	}
	if reaper < 0 {
		return false
	}
	name := "the end of a process"
	if known {
		name = fmt.Sprintf("the end of process %d", pid)
	}
	g.add(g.tids[i], waits.Lock{Name: name, Number: uint64(g.all[reaper].At), Owner: g.tids[reaper], Ends: true,
		Instant: g.instant[i] && g.instant[reaper],
		Evidence: fmt.Sprintf("thread %d waits for it in the kernel, and wakes who is in %s", g.tids[reaper],
			childWaits[0])})
	return true
}

// childOf is the number of the process that thread number i waits for, as the object says that it waits on.
func (g *graph) childOf(i int) (pid uint64, known bool) {
	w, v := &g.all[i], &g.views[i]
	if w.Waits == 0 || w.locked == 0 {
		return 0, false
	}
	class, err := g.j.heap.Class(v, w.locked)
	if err != nil {
		return 0, false
	}
	at, err := g.j.meta.Field(g.r.lasting(), class, childField)
	if err != nil {
		return 0, false
	}
	pid, err = v.Uint(w.locked+mem.Addr(at), 4)
	return pid, err == nil && pid != 0
}
