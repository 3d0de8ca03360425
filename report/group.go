package report

import (
	"encoding/binary"
	"fmt"
	"slices"
	"sort"

	"github.com/fpstack/fpstack/profile"
)

// entry is what is shown at one place: the threads, in the order of the Dump, that have the
// same stack, and the frames of it that Options leaves in.
type entry struct {
	threads []*profile.Thread
	frames  []profile.Frame
	leader  bool // the thread group leader is among them
	rank    rank
}

// rank is what comes first in a dump.
type rank uint8

const (
	rankDied     rank = iota
	rankCycle         // waits in a cycle
	rankActive        // computes, is in an uninterruptible sleep, or waits for somebody who has what it wants
	rankLanguage      // has functions of a language
	rankLoop          // waits in an event loop
	rankNative
)

// rankOf ranks t, with the frames of it that are shown. cycles are the threads that wait for each other.
func rankOf(t *profile.Thread, frames []profile.Frame, cycles map[int]bool) rank {
	switch {
	case t.Signal != nil:
		return rankDied
	case cycles[t.TID]:
		return rankCycle
	case t.State == "R", t.State == "D", t.Wait != nil && t.Wait.Mode == profile.WaitOne &&
		t.Wait.Sort == profile.SortLock:
		return rankActive
	case t.Fiber != nil,
		slices.ContainsFunc(frames, func(f profile.Frame) bool { return f.Kind.Made() }):
		return rankLanguage
	case t.Loop != nil:
		return rankLoop
	}
	return rankNative
}

// cyclesOf is the threads of d that are in a cycle of waits.
func cyclesOf(d *profile.Dump) map[int]bool {
	in := map[int]bool{}
	if d.Waits != nil {
		for i := range d.Waits.Cycles {
			for _, tid := range d.Waits.Cycles[i].Threads {
				in[tid] = true
			}
		}
	}
	return in
}

// entries returns the threads of d one by one, or with opt.Group those with the same stack together, by rank, among
// equals the smallest groups first. Those that are idle are apart unless they are wanted or there is nothing else.
func entries(d *profile.Dump, opt *Options) (list []entry, idle []*profile.Thread) {
	if opt.Group && opt.folds() {
		idle = idleThreads(d)
	}
	away := map[*profile.Thread]bool{}
	for _, t := range idle {
		away[t] = true
	}
	at, cycles := map[string]int{}, cyclesOf(d)
	for i := range d.Threads {
		t := &d.Threads[i]
		if away[t] {
			continue
		}
		frames := opt.shownInText(&t.Stack, d.Modules)
		rank := rankOf(t, frames, cycles)
		isLeader := t.TID == d.Process.PID
		if opt.Group {
			key := string(stackKey(t, frames))
			if have, ok := at[key]; ok {
				list[have].threads = append(list[have].threads, t)
				list[have].leader = list[have].leader || isLeader
				list[have].rank = min(list[have].rank, rank)
				continue
			}
			at[key] = len(list)
		}
		list = append(list, entry{[]*profile.Thread{t}, frames, isLeader, rank})
	}
	if opt.Group {
		sort.SliceStable(list, func(i, j int) bool {
			if list[i].rank != list[j].rank {
				return list[i].rank < list[j].rank
			}
			if len(list[i].threads) != len(list[j].threads) {
				return len(list[i].threads) < len(list[j].threads)
			}
			return list[i].leader && !list[j].leader
		})
	}
	return list, idle
}

// idleThreads are those of d that are idle; none where all are and nothing else is to be shown. The first thread of a
// process is shown unless its runtime says that it is idle: it is what a person looks for.
func idleThreads(d *profile.Dump) (idle []*profile.Thread) {
	for i := range d.Threads {
		t := &d.Threads[i]
		if t.IdleKind() != "" && (t.Idle != "" || t.TID != d.Process.PID) {
			idle = append(idle, t)
		}
	}
	if len(idle) == len(d.Threads) && len(d.Fibers) == 0 {
		return nil
	}
	return idle
}

// stackKey is equal for two threads exactly if they may be shown as one: the same addresses
// and functions in user space, the same in the kernel, the same end, the same reason for not being stopped. Name,
// state and system call may differ: the entry lists them.
func stackKey(t *profile.Thread, frames []profile.Frame) []byte {
	key := make([]byte, 0, 8*len(frames)+64)
	for i := range frames {
		f := &frames[i]
		if !f.Inlined {
			key = binary.LittleEndian.AppendUint64(key, f.Addr)
		}
		if f.Gap || f.Unsure {
			key = fmt.Appendf(key, "%t %t", f.Gap, f.Unsure)
		}
		if f.Kind.Made() { // the address may be that of an interpreter
			key = fmt.Appendf(key, "%q %q %d", f.Func, f.File, f.Line)
		}
	}
	key = binary.LittleEndian.AppendUint64(key, uint64(len(key)))
	if t.Stack.Complete {
		key = append(key, 1)
	}
	if t.Signal != nil {
		key = append(key, 2)
	}
	for _, s := range append([]string{t.Stack.Stop, t.NotStopped}, t.KernelStack...) {
		key = binary.LittleEndian.AppendUint32(key, uint32(len(s)))
		key = append(key, s...)
	}
	for i := range frames {
		for _, v := range t.Locals[frames[i].Index] {
			key = fmt.Appendf(key, "%q=%q", v.Name, v.Value)
		}
	}
	return key
}
