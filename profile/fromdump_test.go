package profile

import (
	"fmt"
	"slices"
	"strings"
	"testing"
)

func TestFromDumpsCountsThreads(t *testing.T) {
	frame := func(name string, module int, addr uint64) Frame {
		return Frame{Func: name, Module: module, Addr: addr, ModuleAddr: addr & 0xfff, Origin: "cfi", Index: 7}
	}
	wait := []Frame{frame("poll", 0, 0x7010), frame("loop", 1, 0x1020), frame("main", 1, 0x1030)}
	spin := []Frame{frame("work", 1, 0x1040), frame("main", 1, 0x1030)}
	asleep := &Syscall{Number: 7, Name: "poll"}
	first := &Dump{Process: Process{PID: 5, Comm: "a", Exe: "/a"}, Modules: []Module{{Path: "/libc"}, {Path: "/a"}},
		Threads: []Thread{
			{TID: 5, State: "S", Syscall: asleep, Stack: Stack{Frames: wait, Complete: true}},
			{TID: 6, State: "S", Syscall: asleep, Stack: Stack{Frames: wait, Complete: true}},
			{TID: 7, State: "R", Stack: Stack{Frames: spin, Complete: true}},
		}}
	second := &Dump{Process: Process{PID: 9, Comm: "b"}, Modules: []Module{{Path: "/b"}}, Threads: []Thread{
		{TID: 9, State: "R", Stack: Stack{Frames: []Frame{frame("main", 0, 0x1030)}, Complete: true}},
	}}
	p := FromDumps(first, second)
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for i, s := range p.Samples {
		line := fmt.Sprintf("%d %d:", p.Tasks[s.Task].PID, p.Tasks[s.Task].TID)
		for _, f := range p.Tree.Append(nil, s.Stack) {
			line += " " + p.Frames[f].Func
			if m := p.Frames[f].Module; m >= 0 {
				line += "@" + p.Modules[m].Path
			}
		}
		got = append(got, fmt.Sprint(line, " ", p.Value(i)))
	}
	want := []string{
		"5 5: poll poll@/libc loop@/a main@/a [1]",
		"5 6: poll poll@/libc loop@/a main@/a [1]",
		"5 7: work@/a main@/a [1]",
		"9 9: main@/b [1]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got  %q\nwant %q", got, want)
	}
	var modules []string
	for _, m := range p.Modules {
		modules = append(modules, m.Path)
	}
	if want := []string{"/a", "/libc", "/b"}; !slices.Equal(modules, want) { // the first is the main program
		t.Errorf("modules %q, want %q", modules, want)
	}
	if p.Samples[0].Stack != p.Samples[1].Stack {
		t.Error("the same stack in two threads is two nodes")
	}
}

func TestFromDumpsSaysWhatIsMissing(t *testing.T) {
	work := []Frame{{Func: "work", Module: -1}}
	for name, c := range map[string]struct {
		thread Thread
		want   string // innermost first
	}{
		"whole":                   {Thread{Stack: Stack{Frames: work, Stop: "root", Complete: true}}, "work"},
		"cut":                     {Thread{Stack: Stack{Frames: work, Stop: "no rule"}}, "work (stack cut: no rule)"},
		"cut for no reason given": {Thread{Stack: Stack{Frames: work}}, "work (stack cut)"},
		"did not stop": {Thread{State: "D", NotStopped: "state D", Syscall: &Syscall{Name: "fsync"},
			Stack: Stack{Stop: "not stopped"}}, "fsync (not stopped)"},
		"worker of the kernel": {Thread{State: "S", NotStopped: "a worker", NoUserCode: true,
			Stack: Stack{Stop: "not stopped"}}, "(no user stack)"},
		"all frames were to be skipped": {Thread{State: "R", Stack: Stack{Complete: true}}, "(no user stack)"},
	} {
		p := FromDumps(&Dump{Threads: []Thread{c.thread}})
		if err := p.CheckValid(); err != nil {
			t.Fatalf("%s: %v", name, err)
		}
		var got []string
		for _, f := range p.Tree.Append(nil, p.Samples[0].Stack) {
			got = append(got, p.Frames[f].Func)
		}
		if strings.Join(got, " ") != c.want {
			t.Errorf("%s: stack %q, want %q", name, got, c.want)
		}
	}
}

// Doubts of a dump are frames of a profile, outside of those that they are of.
func TestFromDumpsMarksDoubts(t *testing.T) {
	frames := []Frame{{Func: "leaf", Module: -1, Unsure: true}, {Func: "inner", Module: -1, Gap: true},
		{Func: "main", Module: -1}}
	p := FromDumps(&Dump{Threads: []Thread{{TID: 1, State: "R", Stack: Stack{Frames: frames, Complete: true}}}})
	if err := p.CheckValid(); err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, f := range p.Tree.Append(nil, p.Samples[0].Stack) {
		got = append(got, p.Frames[f].Func)
	}
	if want := []string{"leaf", UnsureMark, "inner", GapMark, "main"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}
