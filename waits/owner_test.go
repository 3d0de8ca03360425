package waits

import (
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/procfs"
)

// TestIDsUsedAgain: an owner word has the id of a thread, which another one may have by now.
func TestIDsUsedAgain(t *testing.T) {
	const mine = "mutex 0x10000 held by 102"
	const again = "held by thread 102, or by an earlier one of that id which has exited"
	for _, c := range []struct {
		name    string
		process int    // that thread 102 is of
		own     uint64 // when process 100 began
		began   uint64 // when thread 102 did
		asleep  uint64 // since when thread 100 has slept
		kind    uint32 // of the mutex
		words   string
		forked  bool
	}{
		{"it began before who waits", 100, 50, 40, 90, 0, mine, false},
		{"it began first, and then the wait", 100, 50, 80, 90, 0, mine, false},
		{"in the same tick", 100, 50, 90, 90, 0, mine, false},
		{"it began behind the wait", 100, 50, 95, 90, 0, again, false},
		{"since when it waits is not known", 100, 50, 95, 0, 0, mine, false},
		{"when it began is not known", 100, 50, 0, 90, 0, mine, false},
		{"a robust mutex", 100, 50, 95, 90, kindRobust, "robust mutex 0x10000 held by 102", false},
		{"a thread of who forked", 200, 50, 40, 90, 0, "when the process was forked", true},
		{"a thread of who forked at once", 200, 50, 50, 90, 0, "when the process was forked", true},
		{"another process since", 200, 50, 51, 0, 0, "held by thread 102, which has exited", false},
		{"when the process began is not known", 200, 0, 51, 0, 0, "when the process was forked", true},
	} {
		t.Run(c.name, func(t *testing.T) {
			waiter, later := futexThread(100, heap, private, 2), futexThread(101, heap, private, 2)
			owner := &Thread{TID: 102, Inner: 102, Comm: "o", State: 'R', Start: c.began,
				First: Reading{At: time.Now(), Known: true}}
			waiter.Start, later.Start = c.own, 1000
			threads := []*Thread{waiter, later}
			if c.kind == kindRobust {
				call := procfs.Syscall{Number: 202, Args: [6]uint64{heap, 0, waiters | 102}, SP: stack,
					PC: code + 0x800}
				waiter.First.Call, later.First.Call = call, call
			}
			if c.process == 100 {
				threads = append(threads, owner)
			}
			d := draw(threads...)
			if c.process != 100 {
				d.facts.Add(&Process{PID: c.process, Space: c.process, Threads: []*Thread{owner}})
			}
			d.asleep = map[int]uint64{100: c.asleep}
			word := uint32(2)
			if c.kind == kindRobust {
				word = waiters | 102
			}
			d.mutex(heap, word, 102, c.kind)
			g := d.examine(t)
			for _, tid := range []int{100, 101} { // who began to wait since does not know it better
				w := g.Of(tid)
				if got := g.Words(w); !strings.Contains(got, c.words) || w.Forked != c.forked {
					t.Errorf("thread %d %q, forked %v; want %q, %v", tid, got, w.Forked, c.words, c.forked)
				}
			}
		})
	}
}
