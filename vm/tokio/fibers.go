package tokio

import (
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// taskKind is what tokio calls a fiber.
const taskKind = "task"

// FiberKind implements vm.FiberLister.
func (r *Runtime) FiberKind() string { return taskKind }

// OpenFibers implements vm.FiberLister: it finds which types of tasks the program has.
func (r *Runtime) OpenFibers() (present bool, err error) {
	if r.image.Search == nil {
		return false, nil
	}
	r.vtables, err = r.findVtables()
	return len(r.vtables) > 0, err
}

// Fibers implements vm.FiberLister: the tasks that have not ended, in the order in which they were made. They are of a
// moment after the stop.
func (r *Runtime) Fibers(*snapshot.Snapshot) ([]snapshot.Fiber, error) {
	r.stacks = map[uint64][]unwind.Frame{}
	l := r.find()
	var out []snapshot.Fiber
	for i := range l.tasks {
		t := &l.tasks[i]
		f := snapshot.Fiber{Kind: taskKind, ID: t.id, State: "where it waits is not known"}
		switch {
		case t.state&stateRunning != 0:
			f.State, f.Wait, f.Missing = "runs", snapshot.FiberRuns, "its stack is that of the thread which runs it"
		case t.state&stateNotified != 0:
			f.State, f.Wait = "ready to run", snapshot.FiberRuns
		}
		if f.Missing == "" {
			r.stacks[t.id] = []unwind.Frame{r.frame(profile.Frame{Func: r.future(t.vtable)})}
		}
		out = append(out, f)
	}
	return out, l.problem()
}

// FiberStack implements vm.FiberStacker.
func (r *Runtime) FiberStack(id uint64, to *unwind.Stack) {
	to.Frames, to.Stop = append(to.Frames, r.stacks[id]...), unwind.Root
}
