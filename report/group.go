package report

import (
	"encoding/binary"
	"fmt"
	"sort"

	"github.com/fpstack/fpstack/profile"
)

// entry is what is shown at one place: the threads, in the order of the Dump, that have the
// same stack, and the frames of it that Options leaves in.
type entry struct {
	threads []*profile.Thread
	frames  []profile.Frame
	leader  bool // the thread group leader is among them
}

// died reports whether it is the thread that the process died by.
func (e *entry) died() bool { return e.threads[0].Signal != nil }

// entries returns the threads of d one by one, or with opt.Group those with the same stack
// together and the smallest groups first, but that of the thread that the process died by before all.
// Those that are idle are apart if nothing wants them shown.
func entries(d *profile.Dump, opt *Options) (list []entry, idle []*profile.Thread) {
	at := map[string]int{}
	for i := range d.Threads {
		t := &d.Threads[i]
		if t.Idle != "" && opt.Group && !opt.Verbose {
			idle = append(idle, t)
			continue
		}
		frames := opt.visible(&t.Stack)
		isLeader := t.TID == d.Process.PID
		if opt.Group {
			key := string(stackKey(t, frames))
			if have, ok := at[key]; ok {
				list[have].threads = append(list[have].threads, t)
				list[have].leader = list[have].leader || isLeader
				continue
			}
			at[key] = len(list)
		}
		list = append(list, entry{[]*profile.Thread{t}, frames, isLeader})
	}
	if opt.Group {
		sort.SliceStable(list, func(i, j int) bool {
			if died := list[i].died(); died != list[j].died() {
				return died
			}
			if len(list[i].threads) != len(list[j].threads) {
				return len(list[i].threads) < len(list[j].threads)
			}
			return list[i].leader && !list[j].leader
		})
	}
	return list, idle
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
