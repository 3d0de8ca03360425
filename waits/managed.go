package waits

import "strings"

// managedLibrary begins what the methods of .NET's own library are called which threads wait in; below them is libc's
// condition variable, which says nothing of what is waited for.
const managedLibrary = "System.Threading."

// managedWait is a wait that the beginning of a method's name shows.
type managedWait struct {
	method string // behind managedLibrary
	kind   Kind
	mode   Mode
}

// managedWaits are the methods that programs call, each with those that it calls itself. Of several on a stack it is
// the outermost: a task is waited for by an event, and that by a monitor.
var managedWaits = []managedWait{
	{"Tasks.Task.", kindNetTask, Any},
	{"SemaphoreSlim.", kindNetSemaphore, Any},
	{"ManualResetEventSlim.", kindNetEvent, Any},
	{"CountdownEvent.", kindNetCountdown, Any},
	{"Barrier.", kindNetBarrier, Any},
	{"ReaderWriterLockSlim.", kindNetRwLock, Any},
	{"Lock.", kindNetLock, Any},
	{"Monitor.Wait", kindNetPulse, Any},
	{"Monitor.", kindNetMonitor, Any},
	{"Thread.Join", kindThreadEnd, Any},
	{"Thread.Sleep", kindTime, Time},
	{"WaitHandle.", kindNetHandle, Any},
	{"LowLevelLifoSemaphore.", kindNetWork, Idle},
	{"PortableThreadPool.", kindNetWork, Idle},
	{"TimerQueue.", kindNetTimers, Idle},
}

// deepestManaged is how many of the innermost functions are looked at: some ten of the runtime come before the methods.
const deepestManaged = 40

// managed recognises a wait of .NET by the methods on the stack.
func (s *study) managed(f *futexCall, w *Wait) bool {
	var found *managedWait
	var method string
	for _, name := range f.t.Stack[:min(deepestManaged, len(f.t.Stack))] {
		rest, ok := strings.CutPrefix(name, managedLibrary)
		if !ok && found != nil && !strings.HasPrefix(name, "[") { // a stub
			break
		}
		if m := findManaged(rest); ok && m != nil {
			found, method = m, name
		}
	}
	if found == nil {
		return false
	}
	s.anybody(f, w)
	w.Object.Kind, w.Object.Addr = found.kind, 0
	w.Evidence = append(w.Evidence, "it is in "+method)
	switch {
	case found.mode == Idle:
		w.Mode, w.Wakers, w.Object.Name = Idle, nil, "waits for "+found.kind.Noun
	case found.mode == Time && w.Timed:
		w.Mode, w.Wakers, w.Object.Name = Time, nil, "sleeps in Thread.Sleep"
	case found.mode == Time:
		w.Object.Kind, w.Note = kindNetInterrupt, "it sleeps without a time limit"
	}
	return true
}

func findManaged(method string) *managedWait {
	for i := range managedWaits {
		if strings.HasPrefix(method, managedWaits[i].method) {
			return &managedWaits[i]
		}
	}
	return nil
}
