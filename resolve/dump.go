package resolve

import (
	"fmt"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// Dump puts a snapshot and the stacks of its threads, in the same order, into the terms of a
// person.
func (n *Names) Dump(s *snapshot.Snapshot, stacks []unwind.Stack) *profile.Dump {
	n.Prepare(stacks)
	d := &profile.Dump{
		Process: profile.Process{PID: s.Process.PID, Comm: s.Process.Comm, Cmdline: s.Process.Cmdline, Exe: s.Process.Exe},
		Time:    s.Time, Stopped: s.Stopped, Rolling: s.Rolling, Exited: s.Exited, Late: s.Late,
		Problems: append([]string(nil), s.Problems...),
	}
	d.Threads = make([]profile.Thread, len(s.Threads))
	for i := range s.Threads {
		d.Threads[i] = n.thread(s, &s.Threads[i], &stacks[i])
		if d.Process.Arch == "" || s.Threads[i].TID == s.Process.PID {
			d.Process.Arch = archName(s, &s.Threads[i])
		}
	}
	for _, err := range n.problems {
		d.Problems = append(d.Problems, err.Error())
	}
	d.Modules = n.modules()
	return d
}

func (n *Names) thread(s *snapshot.Snapshot, t *snapshot.Thread, stack *unwind.Stack) profile.Thread {
	out := profile.Thread{TID: t.TID, Name: t.Comm, Syscall: describe(s, t), Wchan: t.Wchan,
		NotStopped: t.NotStopped, KernelStack: t.KernelStack, Stopped: t.Stopped, Stack: n.Stack(stack)}
	if t.State != 0 {
		out.State = string(t.State)
	}
	if t.KernelWorker {
		out.Stack.Detail = "a worker of the kernel: it has no user code"
	}
	if t.StackErr != nil && !out.Stack.Complete && stack.Stop == unwind.ReadFault {
		out.Stack.Detail = fmt.Sprintf("%s (%v)", out.Stack.Detail, t.StackErr)
	}
	return out
}

// modules lists the modules that were opened; Frame.Module is an index into it.
func (n *Names) modules() []profile.Module {
	all := n.set.All()
	out := make([]profile.Module, len(all))
	for i, m := range all {
		out[i] = profile.Module{Path: m.Path, BuildID: m.BuildID(), Base: m.Base()}
		if m.Err != nil {
			out[i].Err = m.Err.Error()
		}
	}
	return out
}
