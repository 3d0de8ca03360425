package profile

import "slices"

import "strings"

// ThreadsCount is the value of a profile made from one dump: how many threads have the stack.
var ThreadsCount = ValueType{"threads", "count"}

// FromDumps turns dumps of processes into a profile that counts the threads of each stack. A
// thread that waits in the kernel has its system call as innermost frame; a stack whose outermost
// frame was not reached begins with a word that says so. Modules are those of all dumps, one after
// the other, each one's executable first.
func FromDumps(dumps ...*Dump) *Profile {
	b := NewBuilder(ThreadsCount)
	p := b.Profile()
	for _, d := range dumps {
		places := addModules(p, d)
		if p.Start.IsZero() {
			p.Start, p.Command = d.Time, d.Process.Cmdline
		}
		for i := range d.Threads {
			t := &d.Threads[i]
			task := b.Task(Task{PID: d.Process.PID, TID: t.TID, Process: d.Process.Comm, Thread: t.Name})
			b.Add(addStack(b, t, places), task, 1)
		}
	}
	return p
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
	if word := missing(t); word != "" {
		n = b.Child(n, b.Frame(Frame{Func: word, Kind: Unknown, Module: -1}))
	}
	for i := len(t.Stack.Frames) - 1; i >= 0; i-- {
		f := t.Stack.Frames[i]
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
