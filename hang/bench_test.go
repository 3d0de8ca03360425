package hang

import (
	"fmt"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// BenchmarkJudge judges a tree of 30 processes with 500 threads that were sampled three times.
func BenchmarkJudge(b *testing.B) {
	c := &Case{Roots: []int{1}}
	for range 3 {
		m := Moment{Counters: map[int]Span{}}
		for p := range 30 {
			pid := 1 + 17*p
			d := &profile.Dump{Process: profile.Process{PID: pid, Comm: fmt.Sprintf("p%d", p)}}
			for t := range 17 {
				thread := profile.Thread{TID: pid + t, Name: "worker", State: "S", Wait: &profile.Wait{
					Kind: "semaphore", Mode: "any", Addr: profile.Address(pid), Wakers: []profile.Waker{{PID: pid}}}}
				for f := range 20 {
					thread.Stack.Frames = append(thread.Stack.Frames,
						profile.Frame{Index: f, Func: fmt.Sprintf("f%d", f)})
				}
				d.Threads = append(d.Threads, thread)
			}
			m.Dumps = append(m.Dumps, d)
		}
		c.Moments = append(c.Moments, m)
	}
	for b.Loop() {
		if v := Judge(c); v.Sentence == "" {
			b.Fatal("no sentence")
		}
	}
}
