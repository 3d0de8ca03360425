package coreclr

import (
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/waits"
)

// join begins the names of the methods that wait for the end of a thread.
const join = "System.Threading.Thread.Join"

// maxJoin bounds the bytes of a stack that are searched: the frames of the runtime below the method.
const maxJoin = 64 << 10

// Locks lists which locks threads of s wait for, and for which threads they wait in Thread.Join, by their
// stacks: see vm.LockLister. What the runtime does there has the address of its Thread; a stack that has those of
// several says nothing.
func (r *Runtime) Locks(s *snapshot.Snapshot, stack func(tid int) *unwind.Stack) []waits.Lock {
	list := r.locksOf(s, stack)
	var known map[mem.Addr]int // our ids of threads, by their Threads
	for i := range s.Threads {
		t := &s.Threads[i]
		end, ok := r.inJoin(stack(t.TID))
		if !ok {
			continue
		}
		if known == nil {
			known = r.byThread(s)
		}
		if tid := joinedBy(t, end, known); tid != 0 {
			list = append(list, waits.Lock{Name: fmt.Sprintf("the end of thread %d", tid), Number: uint64(tid),
				Waiters: []int{t.TID}, Owner: tid, Ends: true,
				Evidence: "its Thread is on the stack below Thread.Join"})
		}
	}
	return list
}

// byThread are our ids of the threads of s, by the runtime's Threads; none where not all of those are known, as the
// only one of several that is would be taken for the only one.
func (r *Runtime) byThread(s *snapshot.Snapshot) map[mem.Addr]int {
	ids := map[int]int{}
	for i := range s.Threads {
		ids[s.Threads[i].InnerTID()] = s.Threads[i].TID
	}
	known := map[mem.Addr]int{}
	v := view.Over(nil, r.live, r.budget)
	v.Within(stackSteps)
	threads, err := r.threads(&v)
	if err != nil {
		return known
	}
	for _, t := range threads {
		if tid := ids[t.os]; tid != 0 {
			known[t.at] = tid
		}
	}
	return known
}

// inJoin reports whether the innermost method of a stack is Thread.Join, and where its frame ends.
func (r *Runtime) inJoin(s *unwind.Stack) (end mem.Addr, ok bool) {
	r.methods(s, func(f *unwind.Frame, method string) bool {
		is := strings.HasPrefix(method, join)
		if is {
			end, ok = f.CFA, true
		}
		return is || method == "" && !ok
	})
	return end, ok
}

// methods gives yield the methods of a stack from the innermost on, "" for frames that are not of .NET, as long as it
// returns true.
func (r *Runtime) methods(s *unwind.Stack, yield func(f *unwind.Frame, method string) bool) {
	for i := 0; s != nil && i < len(s.Frames); i++ {
		f, method := &s.Frames[i], ""
		if f.Runtime == unwind.Runtime(r) {
			shown := r.Frames(f.Site)
			if len(shown) == 0 || shown[0].Stub {
				continue
			}
			method = shown[0].Func
		}
		if !yield(f, method) {
			return
		}
	}
}

// joinedBy is the one thread besides t whose Thread is on the stack of t before end, 0 if there is none or several.
func joinedBy(t *snapshot.Thread, end mem.Addr, known map[mem.Addr]int) int {
	found := 0
	for _, w := range wordsBelow(t, end) {
		switch tid := known[mem.Addr(w)]; {
		case tid == 0 || tid == t.TID || tid == found:
		case found != 0:
			return 0
		default:
			found = tid
		}
	}
	return found
}
