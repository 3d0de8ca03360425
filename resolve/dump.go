package resolve

import (
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/syscalls"
	"github.com/fpstack/fpstack/unwind"
)

// Dump puts a snapshot and the stacks of its threads and fibers into the terms of a person.
func (n *Names) Dump(s *snapshot.Snapshot, w Walked) *profile.Dump {
	all := slices.Clone(w.Threads)
	for i := range w.FiberStacks {
		all = append(all, w.FiberStacks[i].Stack)
	}
	n.Prepare(all)
	d := &profile.Dump{
		Process: profile.Process{PID: s.Process.PID, Comm: s.Process.Comm, Cmdline: s.Process.Cmdline,
			Exe: s.Process.Exe, Role: s.Process.Role},
		Time: s.Time, Stopped: s.Stopped, Rolling: s.Rolling, NoStop: s.NoStop, Core: s.Core,
		Batches: s.Batches, Exited: s.Exited, Late: s.Late,
		Problems: append([]string(nil), s.Problems...),
	}
	d.Threads = make([]profile.Thread, len(s.Threads))
	shared := sharedFrames{n, map[frameList][]profile.Frame{}}
	for i := range s.Threads {
		d.Threads[i] = n.thread(s, &s.Threads[i], &w.Threads[i], shared)
		if w.Idle != nil {
			d.Threads[i].Idle = w.Idle[i]
		}
		if d.Process.Arch == "" || s.Threads[i].TID == s.Process.PID {
			d.Process.Arch = archName(s, &s.Threads[i])
		}
	}
	n.fibers(d, &w, shared)
	d.Modules = n.modules(d)
	for _, err := range n.problems {
		d.Problems = append(d.Problems, err.Error())
	}
	return d
}

func (n *Names) thread(s *snapshot.Snapshot, t *snapshot.Thread, stack *unwind.Stack,
	shared sharedFrames) profile.Thread {
	out := profile.Thread{TID: t.TID, Name: t.Comm, Syscall: describe(s, t), Wchan: t.Wchan,
		NotStopped: t.NotStopped, KernelStack: t.KernelStack, Stopped: t.Stopped, Stack: shared.stack(stack)}
	if c := t.Counters; c != nil {
		out.Counters = &profile.Counters{CPU: c.CPU, Waited: c.Waited, Switches: c.Switches}
	}
	if t.State != 0 {
		out.State = string(t.State)
	}
	if s := t.Signal; s != nil {
		out.Signal = &profile.SignalInfo{Number: s.Number, Name: syscalls.SignalName(uint64(s.Number)), Code: s.Code,
			HasCode: s.HasCode, Addr: uint64(s.Addr), HasAddr: s.HasAddr, Sender: s.Sender}
		if s.HasCode {
			out.Signal.Cause = syscalls.SignalCause(uint64(s.Number), s.Code)
		}
	}
	out.NoUserCode = t.KernelWorker || t.State == 'Z'
	if t.KernelWorker {
		out.Stack.Detail = "a worker of the kernel: it has no user code"
	}
	if t.StackErr != nil && !out.Stack.Complete && stack.Stop == unwind.ReadFault {
		out.Stack.Detail = fmt.Sprintf("%s (%v)", out.Stack.Detail, t.StackErr)
	}
	return out
}

// modules lists the modules that frames of d lie in, and makes Frame.Module an index into the
// list. What is malformed in one of them becomes a problem.
func (n *Names) modules(d *profile.Dump) []profile.Module {
	var out []profile.Module
	all := n.set.All()
	index := map[int]int{} // module ID -> index in out
	for list := range d.FrameLists() {
		frames := *list
		for j := range frames {
			id := frames[j].Module
			if id < 0 {
				continue
			}
			at, ok := index[id]
			if !ok {
				at = len(out)
				index[id] = at
				out = append(out, n.module(all[id]))
			}
			frames[j].Module = at
			n.place(&out[at], &frames[j])
		}
	}
	return out
}

// place fills in where m lies: the mapping that f was met in.
func (n *Names) place(m *profile.Module, f *profile.Frame) {
	if m.End != 0 || f.Inlined {
		return
	}
	if mapping := n.set.Table().Find(mem.Addr(f.Addr)); mapping != nil && mapping.IsFile() {
		m.Start, m.End, m.Offset = uint64(mapping.Start), uint64(mapping.End), uint64(mapping.Offset)
	}
}

// Module describes m. Start, End and Offset are the caller's to fill in.
func (n *Names) Module(m *module.Module) profile.Module { return n.module(m) }

func (n *Names) module(m *module.Module) profile.Module {
	out := profile.Module{Path: m.Path, BuildID: m.BuildID(), Base: m.Base()}
	switch {
	case m.Made():
		return out
	case m.Err != nil:
		out.Err = m.Err.Error()
		return out
	case n.opt.NoSymbols:
		return out
	}
	r := n.of(m)
	out.Symbols = r.Tables()
	out.DebugFile, out.Unread = r.DebugFile(), r.Unread()
	if err := m.SectionsErr(); err != nil {
		out.Err = err.Error()
		n.problem(err)
	}
	return out
}
