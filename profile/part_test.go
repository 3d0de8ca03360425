package profile

import (
	"testing"
	"time"
)

// TestPart: the parts of a profile by process have its sums together, each its own frames and modules alone, and the
// main program first.
func TestPart(t *testing.T) {
	b := NewBuilder(SamplesCount, WallTime)
	p := b.Profile()
	p.Modules = []Module{{Path: "/lib/libc.so", End: 10}, {Path: "/bin/a", End: 20}, {Path: "/bin/b", End: 30}}
	p.Default, p.Period, p.Duration, p.Start = 1, time.Millisecond, time.Minute, time.Unix(5, 0)
	root := b.Child(0, b.Frame(Frame{Func: "main", Module: 1}))
	other := b.Child(0, b.Frame(Frame{Func: "main", Module: 2}))
	read := Frame{Func: "read", Module: 0}
	a, a2 := b.Task(Task{PID: 1, TID: 1}), b.Task(Task{PID: 1, TID: 2})
	c := b.Task(Task{PID: 3, TID: 3})
	b.Add(b.Child(root, b.Frame(read)), a, 1, 10)
	b.Add(root, a2, 2, 20)
	b.Add(b.Child(other, b.Frame(read)), c, 4, 40)
	b.Add(root, -1, 8, 80)
	p.Runs = []Run{{Stack: root, Task: a}}
	sum := int64(0)
	parter := NewParter(p)
	same := func(t Task) Task { return t }
	for pid, main := range map[int]string{1: "/bin/a", 3: "/bin/b"} {
		part := parter.Part(map[int][]int{1: {a, a2}, 3: {c}}[pid], same, main)
		if err := part.CheckValid(); err != nil {
			t.Fatal(err)
		}
		if len(part.Modules) != 2 || part.Modules[0].Path != main || len(part.Frames) != 2 || part.Runs != nil {
			t.Errorf("part of %d: modules %v, frames %v", pid, part.Modules, part.Frames)
		}
		if part.Default != 1 || part.Period != p.Period || part.Duration != p.Duration || !part.Start.Equal(p.Start) {
			t.Errorf("part of %d: %+v", pid, part)
		}
		for _, task := range part.Tasks {
			if task.PID != pid {
				t.Errorf("part of %d has %+v", pid, task)
			}
		}
		sum += part.Totals()[1]
	}
	if sum != 70 || p.Totals()[1] != 150 || len(p.Tasks) != 3 {
		t.Errorf("parts have %d of %d", sum, p.Totals()[1])
	}
	if none := parter.Part(nil, same, ""); none.CheckValid() != nil || len(none.Samples) != 0 {
		t.Errorf("part of nothing: %+v", none)
	}
	one := parter.Part([]int{a, a2, c}, func(Task) Task { return Task{Thread: "all"} }, "")
	if one.CheckValid() != nil || len(one.Tasks) != 1 || len(one.Samples) != 3 || one.Totals()[1] != 70 {
		t.Errorf("tasks that are shown as one: %+v", one)
	}
}
