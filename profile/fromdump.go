package profile

import (
	"slices"
	"strconv"
	"strings"
)

// StacksCount is the value of a profile made from a dump with fibers: how many of them, and of the threads that run
// none, have the stack.
var StacksCount = ValueType{"stacks", "count"}

// ThreadsCount is the value of a profile made from one dump: how many threads have the stack.
var ThreadsCount = ValueType{"threads", "count"}

// FromDumps turns dumps of processes into a profile that counts the threads of each stack. A
// thread that waits in the kernel has its system call as innermost frame; a stack whose outermost
// frame was not reached begins with a word that says so. Modules are those of all dumps, one after
// the other, each one's executable first.
func FromDumps(dumps ...*Dump) *Profile {
	value := ThreadsCount
	if slices.ContainsFunc(dumps, func(d *Dump) bool { return len(d.Fibers) > 0 }) {
		value = StacksCount
	}
	b := NewBuilder(value)
	p := b.Profile()
	for _, d := range dumps {
		places := addModules(p, d)
		if p.Start.IsZero() {
			p.Start, p.Command = d.Time, d.Process.Cmdline
		}
		for i := range d.Threads {
			t := &d.Threads[i]
			if len(d.Fibers) > 0 && (t.Fiber != nil || t.Idle != "") {
				continue
			}
			task := b.Task(Task{PID: d.Process.PID, TID: t.TID, Process: d.Process.Comm, Thread: t.Name})
			b.Add(addStack(b, t, places), task, 1)
		}
		addFibers(b, d, places)
	}
	return p
}

// addFibers adds the fibers of d, each with its state as innermost frame if it waits. Those of the runtime itself are
// left out.
func addFibers(b *Builder, d *Dump, places []int) {
	threads := map[int]*Thread{}
	for i := range d.Threads {
		threads[d.Threads[i].TID] = &d.Threads[i]
	}
	for i := range d.Fibers {
		f := &d.Fibers[i]
		if f.System || f.Stack < 0 || f.Stack >= len(d.FiberStacks) {
			continue
		}
		t := &Thread{Stack: d.FiberStacks[f.Stack].Stack}
		if runs := threads[f.TID]; runs != nil && len(t.Stack.Frames) == 0 {
			t = runs
		}
		n := addStack(b, t, places)
		if f.TID == 0 {
			n = b.Child(n, b.Frame(Frame{Func: "(" + f.State + ")", Kind: Kernel, Module: -1}))
		}
		name := f.Kind + " " + strconv.FormatUint(f.ID, 10)
		b.Add(n, b.Task(Task{PID: d.Process.PID, TID: f.TID, Process: d.Process.Comm, Thread: name}), 1)
	}
}

// addModules adds those of d, the main program's first, as pprof takes the first for it. It
// returns where each of them is now.
func addModules(p *Profile, d *Dump) (places []int) {
	main := slices.IndexFunc(d.Modules, func(m Module) bool { return m.Path == d.Process.Exe })
	places = make([]int, len(d.Modules))
	if main >= 0 {
		places[main] = len(p.Modules)
		p.Modules = append(p.Modules, d.Modules[main])
	}
	for i := range d.Modules {
		if i != main {
			places[i] = len(p.Modules)
			p.Modules = append(p.Modules, d.Modules[i])
		}
	}
	return places
}

func addStack(b *Builder, t *Thread, places []int) NodeID {
	var n NodeID
	said := func(word string) NodeID { return b.Child(n, b.Frame(Frame{Func: word, Kind: Unknown, Module: -1})) }
	if word := missing(t); word != "" {
		n = said(word)
	}
	unsure := false
	for i := len(t.Stack.Frames) - 1; i >= 0; i-- {
		f := t.Stack.Frames[i]
		if f.Gap {
			n = said(GapMark)
		}
		if f.Unsure && !unsure {
			n = said(UnsureMark)
		}
		unsure = f.Unsure
		if f.Module >= 0 {
			f.Module = places[f.Module]
		}
		n = b.Child(n, b.Frame(f))
	}
	if t.Syscall != nil && t.Syscall.Name != "" && t.State != "R" {
		n = b.Child(n, b.Frame(Frame{Func: t.Syscall.Name, Kind: Kernel, Module: -1}))
	}
	for i := len(t.KernelStack) - 1; i >= 0; i-- {
		name, _, _ := strings.Cut(t.KernelStack[i], "+0x")
		n = b.Child(n, b.Frame(Frame{Func: name, Kind: Kernel, Module: -1}))
	}
	return n
}

// missing is the outermost frame of a stack that is not whole, in the words of a recording; "" if it is.
func missing(t *Thread) string {
	switch {
	case len(t.Stack.Frames) == 0 && t.NotStopped != "" && !t.NoUserCode:
		return "(not stopped)"
	case len(t.Stack.Frames) == 0:
		return "(no user stack)"
	case t.Stack.Complete:
		return ""
	case t.Stack.Stop == "":
		return "(stack cut)"
	}
	return "(stack cut: " + t.Stack.Stop + ")"
}
