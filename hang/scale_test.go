package hang

import (
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// crowd is a case of one process with n threads that were sampled three times, each with counters and a wait as wait
// makes it.
func crowd(n int, wait func(i int) *profile.Wait, ran time.Duration) *Case {
	const pid = 1000
	c := &Case{Roots: []int{pid}, Processes: []Process{{PID: pid, Name: "crowd"}, {PID: 1, Name: "init"}}}
	began := time.Unix(1000, 0)
	for i := range 3 {
		at := began.Add(time.Duration(i) * 3 * time.Second)
		m := Moment{Time: at, Counters: map[int]Span{}, Waits: &profile.Waits{}}
		d := &profile.Dump{Process: profile.Process{PID: pid, Comm: "crowd"}}
		for k := range n {
			tid := pid + k
			stack := profile.Stack{Complete: true, Frames: []profile.Frame{{Func: "work", Addr: 16}, {Func: "main"}}}
			d.Threads = append(d.Threads,
				profile.Thread{TID: tid, Name: "crowd", State: "S", Wait: wait(k), Stack: stack})
			counters := Counters{CPU: time.Duration(i) * ran, Voluntary: uint64(i), Time: at}
			m.Counters[tid] = Span{Before: counters, After: counters}
		}
		m.Dumps = []*profile.Dump{d}
		c.Moments = append(c.Moments, m)
	}
	return c
}

func lockOf(to profile.Waker) func(int) *profile.Wait {
	return func(int) *profile.Wait {
		return &profile.Wait{Sort: profile.SortLock, Kind: "mutex", Mode: "one", Addr: 4096,
			Wakers: []profile.Waker{to}}
	}
}

var crowds = []struct {
	name string
	wait func(int) *profile.Wait
	ran  time.Duration
}{
	{"all wait for one", lockOf(profile.Waker{PID: 1000, TID: 1000}), 0},
	{"each waits for the next", func(i int) *profile.Wait {
		return lockOf(profile.Waker{PID: 1000, TID: 1001 + i})(0)
	}, time.Millisecond},
	{"all wait for a process", lockOf(profile.Waker{PID: 1}), time.Millisecond},
	{"all wait for their own", lockOf(profile.Waker{PID: 1000}), time.Millisecond},
	{"nobody is known", func(int) *profile.Wait {
		return &profile.Wait{Sort: profile.SortFutex, Kind: "futex",
			Mode: "unknown"}
	}, 0},
	{"all spin", func(int) *profile.Wait { return nil }, 3 * time.Second},
}

// TestLinear: a process with 20,000 threads takes as many steps for each of them as one with 2,000.
func TestLinear(t *testing.T) {
	for _, tt := range crowds {
		t.Run(tt.name, func(t *testing.T) {
			steps := func(n int) int {
				j := newJudging(crowd(n, tt.wait, tt.ran))
				if v := j.decide(); v.Sentence == "" || len(j.threads) != n {
					t.Errorf("%d threads: %q", len(j.threads), v.Sentence)
				}
				return j.steps
			}
			few, many := steps(2000), steps(20000)
			if few == 0 || many > 10*few {
				t.Errorf("2,000 threads take %d steps, 20,000 take %d", few, many)
			}
		})
	}
}

// TestServerOfProcesses: the first process of a server whose children wait for connections does not hang.
func TestServerOfProcesses(t *testing.T) {
	for _, listens := range []bool{true, false} {
		c := &Case{Roots: []int{70},
			Processes: []Process{{PID: 70, Name: "nginx"}, {PID: 71, Parent: 70, Name: "nginx"}}}
		at := time.Unix(1000, 0)
		for range 2 {
			m := Moment{Time: at, Counters: map[int]Span{}}
			for pid, w := range map[int]*profile.Wait{
				70: {Sort: profile.SortSignal, Kind: "a signal", Mode: "outside", Text: "waits for a signal"},
				71: {Sort: profile.SortSet, Kind: "descriptors", Mode: "any", Text: "waits for descriptors",
					Listens: listens}} {
				d := &profile.Dump{Process: profile.Process{PID: pid, Comm: "nginx"},
					Threads: []profile.Thread{{TID: pid, State: "S", Wait: w}}}
				m.Dumps = append(m.Dumps, d)
				m.Counters[pid] = Span{Before: Counters{Time: at}, After: Counters{Time: at}}
			}
			c.Moments, at = append(c.Moments, m), at.Add(time.Second)
		}
		if v := Judge(c); (v.Kind == Unknown) != listens {
			t.Errorf("children listen: %v; %s: %s", listens, v.Kind, v.Sentence)
		}
	}
}
