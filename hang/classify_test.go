package hang

import (
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

const wall = 7 * time.Second

// twice is a case of one thread that was sampled twice, wall apart: what its counters grew by, its state, and the
// functions of its stack at each moment, innermost first.
func twice(grew Counters, state string, first, last []string) *Case {
	began := time.Unix(1000, 0)
	at := func(c Counters, t time.Time, stack []string) Moment {
		c.Time = t
		var frames []profile.Frame
		for i, f := range stack {
			frames = append(frames, profile.Frame{Index: i, Func: f})
		}
		return Moment{Time: t, Counters: map[int]Span{7: {Before: c, After: c}},
			Dumps: []*profile.Dump{{Process: profile.Process{PID: 7, Comm: "job"},
				Threads: []profile.Thread{{TID: 7, Name: "job", State: state, Stack: profile.Stack{Frames: frames}}}}}}
	}
	return &Case{Roots: []int{7}, Moments: []Moment{at(Counters{}, began, first), at(grew, began.Add(wall), last)}}
}

func TestClassify(t *testing.T) {
	here, there := []string{"f", "main"}, []string{"g", "main"}
	share := func(f float64) time.Duration { return time.Duration(f * float64(wall)) }
	for _, row := range []struct {
		name        string
		grew        Counters
		state       string
		first, last []string
		want        Class
	}{
		{"did not run", Counters{}, "S", here, here, Blocked},
		{"a heartbeat", Counters{CPU: share(.001), Voluntary: 7}, "S", here, here, Waking},
		{"wakes in another place", Counters{CPU: share(.001), Voluntary: 7}, "S", here, there, Going},
		{"one switch and no time", Counters{Voluntary: 1}, "S", here, here, Waking},
		{"a loop", Counters{CPU: share(.99), Preemptive: 700}, "R", here, here, Spinning},
		{"four loops on two CPUs", Counters{CPU: share(.4), Delay: share(.6), Preemptive: 700}, "R", here, here,
			Spinning},
		{"eight loops on one CPU", Counters{CPU: share(.12), Delay: share(.88), Preemptive: 700}, "R", here, here,
			Hungry},
		{"computes, and sleeps now and then", Counters{CPU: share(.95), Voluntary: 3}, "R", here, there, Going},
		{"works a little", Counters{CPU: share(.05), Voluntary: 300}, "S", here, here, Going},
		{"runs while there is a CPU", Counters{CPU: share(.1), Delay: share(.7), Voluntary: 3}, "R", here, there,
			Hungry},
		{"stopped", Counters{}, "T", here, here, Still},
		{"stopped by a tracer", Counters{}, "t", here, here, Still},
		{"waits for a disk", Counters{}, "D", here, here, InDisk},
		{"reads a disk", Counters{CPU: share(.03), Voluntary: 900}, "D", here, here, Going},
		{"a kernel without run delay", Counters{CPU: share(.99), NoDelay: true}, "R", here, here, Spinning},
	} {
		c := twice(row.grew, row.state, row.first, row.last)
		if got := Classify(c); len(got) != 1 || got[0].Class != row.want {
			t.Errorf("%s: got %+v, want %s", row.name, got, row.want)
		}
	}
}

func TestClassifyComesAndGoes(t *testing.T) {
	c := twice(Counters{}, "S", nil, nil)
	c.Moments[0].Dumps[0].Threads[0].TID = 8
	got := Classify(c)
	if len(got) != 2 || got[0].Class != Blocked || got[1].TID != 8 || got[1].Class != Gone {
		t.Errorf("got %+v, want 7 blocked and 8 gone", got)
	}
	delete(c.Moments[0].Counters, 7)
	if got := Classify(c); got[0].Class != New {
		t.Errorf("got %+v, want 7 new", got)
	}
	c.Moments = c.Moments[1:]
	if got := Classify(c); len(got) != 1 || got[0].Class != Unseen {
		t.Errorf("got %+v of one moment, want unseen", got)
	}
	if got := Classify(&Case{}); got != nil {
		t.Errorf("got %+v of a case without moments, want nothing", got)
	}
}

// stacks are stacks of those functions, innermost first.
func stacks(lists ...[]string) (all []*profile.Stack) {
	for _, list := range lists {
		s := &profile.Stack{}
		for i, f := range list {
			s.Frames = append(s.Frames, profile.Frame{Index: i, Func: f, Addr: uint64(i)})
		}
		all = append(all, s)
	}
	return all
}

func TestLoopOf(t *testing.T) {
	for _, row := range []struct {
		name   string
		stacks []*profile.Stack
		where  string
		tight  bool
	}{
		{"always the same", stacks([]string{"wait", "main"}, []string{"wait", "main"}), "wait", true},
		{"calls one function", stacks([]string{"wait", "main"}, []string{"check", "wait", "main"}), "wait", true},
		{"calls deeply", stacks([]string{"wait", "main"}, []string{"a", "b", "c", "d", "wait", "main"}), "wait", false},
		{"calls many", stacks([]string{"a", "main"}, []string{"b", "main"}, []string{"c", "main"},
			[]string{"d", "main"}, []string{"e", "main"}, []string{"f", "main"}, []string{"g", "main"}), "main", false},
		{"nothing in common", stacks([]string{"a"}, []string{"b"}), "", false},
		{"no stack", nil, "", false},
	} {
		where, tight := loopOf(row.stacks)
		name := ""
		if where != nil {
			name = where.Func
		}
		if name != row.where || tight != row.tight {
			t.Errorf("%s: got %q, %v, want %q, %v", row.name, name, tight, row.where, row.tight)
		}
	}
}
