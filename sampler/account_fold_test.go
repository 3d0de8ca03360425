package sampler

import (
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// What is kept does not grow with the threads that ever lived, and none of their time is lost: the longest
// are kept by themselves.
func TestEndedThreadsArePutTogether(t *testing.T) {
	c := newCounter(&Options{KeepOrder: true}, func() time.Duration { return 0 }, nil)
	g := &program{}
	const threads = 10 * maxEnded
	at := time.Duration(0)
	for id := range int32(threads) {
		tr := &track{program: g, leftover: &leftover{}, task: id}
		c.count(&sample{track: tr, kind: named, name: profile.Task{PID: 1, TID: int(id) + 1, Process: "p",
			Thread: "t"}})
		tr.stack, tr.running, tr.onCPU = c.book.said(0, wordSite, "here"), id%3 == 0, true
		d := time.Millisecond
		if id == 17 {
			d = time.Second // among the first, and long
		}
		c.count(&sample{track: tr, kind: nothing, samples: 1, at: at, end: at + d, cpu: d})
		c.count(&sample{track: tr, kind: ended})
		at += d
		if n := len(c.tasks); n > 3*maxEnded || len(c.live) > 3*maxEnded || len(c.ledger.entries) > 5*maxEnded {
			t.Fatalf("after %d threads %d tasks, %d live, %d entries", id+1, n, len(c.live), len(c.ledger.entries))
		}
	}
	e := c.extract(true)
	var samples int64
	var wall, cpu, long time.Duration
	for i := range e.entries {
		x := &e.entries[i]
		name, known := e.tasks[x.task]
		if !known || name.Process != "p" {
			t.Fatalf("entry of task %d, which is %+v", x.task, name)
		}
		if name.TID == 18 {
			long += x.wall
		}
		samples, wall, cpu = samples+x.samples, wall+x.wall, cpu+x.cpu
	}
	for _, r := range e.runs {
		if _, known := e.tasks[r.task]; !known {
			t.Fatalf("run of task %d, which is not known", r.task)
		}
		if name := e.tasks[r.task]; name.TID == 0 {
			t.Fatalf("run of %+v", name)
		}
	}
	if samples != threads || wall != at || cpu != at {
		t.Errorf("%d samples, wall %v, cpu %v: want %d and %v", samples, wall, cpu, threads, at)
	}
	if n := len(e.runs); n < maxEnded || n > 2*maxEnded {
		t.Errorf("%d runs, want those of what is kept by itself", n)
	}
	if long != time.Second {
		t.Errorf("the long one: %v, want 1 s by itself", long)
	}
	if len(c.tasks) != 0 || len(c.ended) != 0 {
		t.Errorf("after the end %d tasks, %d ended are kept", len(c.tasks), len(c.ended))
	}
}

// Processes that end are many too.
func TestEndedProcessesArePutTogether(t *testing.T) {
	c := newCounter(&Options{}, func() time.Duration { return 0 }, nil)
	for pid := range 20 * maxFolds {
		c.together(task{PID: pid + 1, TID: 1, Process: "p", Thread: "t"})
		c.together(task{PID: pid + 1, TID: 1, Process: string(rune('a' + pid%10000)), Thread: "t"})
	}
	if n := len(c.folds); n > 2*maxFolds+1 {
		t.Errorf("%d tasks for those that ended, want %d at most", n, 2*maxFolds+1)
	}
}
