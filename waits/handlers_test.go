package waits

import (
	"testing"
	"time"
)

// TestWhoMayCome: a thread that waits for its own process alone is stuck, unless a child that lives would end its wait
// by SIGCHLD, or a timer may. A child that is stuck too ends nothing.
func TestWhoMayCome(t *testing.T) {
	at := time.Unix(1000, 0)
	for _, row := range []struct {
		name   string
		caught uint64
		timers bool
		child  byte // its state: S waits for the parent, R runs, Z has ended; 0 there is none
		stuck  bool
	}{
		{name: "nobody", stuck: true},
		{name: "a handler of SIGTERM", caught: 1 << 14, stuck: true},
		{name: "a handler of SIGALRM", caught: 1 << 13},
		{name: "a timer of timer_create", timers: true},
		{name: "a runtime that takes every signal", caught: 1<<31 - 1, stuck: true},
		{name: "a child that runs", caught: 1 << 16, child: 'R'},
		{name: "a child that runs, and no handler", child: 'R', stuck: true},
		{name: "a child that waits for its parent", caught: 1 << 16, child: 'S', stuck: true},
		{name: "a child that has ended", caught: 1 << 16, child: 'Z', stuck: true},
	} {
		t.Run(row.name, func(t *testing.T) {
			f := &Facts{}
			thread := func(tid int, state byte) *Thread {
				r := Reading{At: at, Blocked: state == 'S', Known: true}
				return &Thread{TID: tid, State: state, First: r}
			}
			f.Add(&Process{PID: 100, Caught: row.caught, Timers: row.timers, Threads: []*Thread{thread(100, 'S')}})
			all := []Wait{{TID: 100, Mode: Any, Object: Object{Kind: kindPipeData}, Wakers: []Waker{{PID: 100}}}}
			f.Files.Children = map[int][]ChildProcess{100: nil}
			if row.child != 0 {
				f.Files.Children[100] = []ChildProcess{{PID: 200, State: row.child}}
				f.Add(&Process{PID: 200, Threads: []*Thread{thread(200, row.child)}})
				if row.child == 'S' {
					all = append(all, Wait{TID: 200, Mode: Any, Object: Object{Kind: kindPipeData},
						Wakers: []Waker{{PID: 100}}})
				}
			}
			(&study{facts: f}).byHandlers(all)
			g := newGraph(f, all, false)
			if got := len(g.Cycles) > 0 && g.Cycles[0].Kind == Stuck; got != row.stuck {
				t.Errorf("stuck: %v, want %v; %+v", got, row.stuck, all[0])
			}
		})
	}
}

// TestManyChildren: of more children than are read any may end a wait.
func TestManyChildren(t *testing.T) {
	at := time.Unix(1000, 0)
	for _, row := range []struct {
		children int // all read children wait for their parent
		read     int
		stuck    bool
	}{
		{maxReached, maxReached, true},
		{maxReached + 1, maxReached, false},
		{maxReached + 1, maxReached + 1, true},
		{10 * maxReached, maxReached, false},
	} {
		f := &Facts{}
		thread := func(tid int) *Thread {
			return &Thread{TID: tid, State: 'S', First: Reading{At: at, Blocked: true, Known: true}}
		}
		wait := func(tid int) Wait {
			return Wait{TID: tid, Mode: Any, Object: Object{Kind: kindPipeData}, Wakers: []Waker{{PID: 100}}}
		}
		f.Add(&Process{PID: 100, Caught: 1 << 16, Threads: []*Thread{thread(100)}})
		all := []Wait{wait(100)}
		f.Files.Children = map[int][]ChildProcess{100: nil}
		for i := range row.children {
			pid := 200 + i
			f.Files.Children[100] = append(f.Files.Children[100], ChildProcess{PID: pid, State: 'S'})
			if i < row.read {
				f.Add(&Process{PID: pid, Threads: []*Thread{thread(pid)}})
				all = append(all, wait(pid))
			}
		}
		(&study{facts: f}).byHandlers(all)
		g := newGraph(f, all, false)
		if got := len(g.Cycles) > 0 && g.Cycles[0].Kind == Stuck; got != row.stuck {
			t.Errorf("%d children, of which %d were read: stuck: %v, want %v", row.children, row.read, got, row.stuck)
		}
		if n := len(all[0].Children); n > row.read+1 {
			t.Errorf("%d children, of which %d were read: %d are listed", row.children, row.read, n)
		}
	}
}

// TestManyWaitForOneProcess: what thousands of threads that wait for one process take grows as they do.
func TestManyWaitForOneProcess(t *testing.T) {
	steps := func(n int) int {
		f := &Facts{}
		p := &Process{PID: 100}
		var all []Wait
		for i := range n {
			p.Threads = append(p.Threads, &Thread{TID: 100 + i, State: 'S', First: Reading{Blocked: true}})
			all = append(all, Wait{TID: 100 + i, Mode: Any, Object: Object{Kind: kindConditionVariable},
				Wakers: []Waker{{PID: 100}}})
		}
		f.Add(p)
		g := newGraph(f, all, false)
		if len(g.Cycles) != 1 || len(g.Cycles[0].Threads) != n {
			t.Fatalf("%d threads: %d cycles", n, len(g.Cycles))
		}
		return g.steps
	}
	if few, many := steps(400), steps(4000); few == 0 || many > 11*few {
		t.Errorf("400 threads take %d steps, 4,000 take %d", few, many)
	}
}
