//go:build linux

package osthread

import (
	"os"
	"runtime"
	"time"

	"golang.org/x/sys/unix"
)

// Thread is an OS thread of its own that makes ptrace requests: only the thread that
// seized a target may make them. It is never the main thread, because its end is the one
// way to give up a target that does not stop, and the main thread of a Go program does
// not end.
//
// Its waits are ended by its alarm, whose signal is not blocked in it, whatever mask this program inherited.
type Thread struct {
	TID     int
	work    chan func()
	Alarm   Alarm
	Urgency Urgency
}

// Start begins a thread, with its alarm. The caller ends it.
func Start() *Thread {
	t := &Thread{work: make(chan func())}
	ready := make(chan struct{})
	offMain(func() { t.run(ready) })
	<-ready
	return t
}

// offMain runs f on an OS thread that ends with f, and is not the main thread, which would not end. It returns when f
// has begun.
func offMain(f func()) {
	placed := make(chan struct{})
	go func() {
		runtime.LockOSThread()
		if unix.Gettid() != os.Getpid() {
			close(placed)
			f()
			return // never unlocked: the thread ends with the goroutine
		}
		// While this goroutine occupies the main thread another cannot get it.
		offMain(f)
		runtime.UnlockOSThread()
		close(placed)
	}()
	<-placed
}

func (t *Thread) run(ready chan struct{}) {
	t.TID = unix.Gettid()
	unblockKick()
	t.Alarm.make(t.TID)
	t.Urgency.Prepare()
	close(ready)
	for f := range t.work {
		f()
	}
}

// Do runs f on the thread and waits for its end. A panic in f is returned: what f held may still be held, until
// the end of the thread.
func (t *Thread) Do(f func()) error {
	done := make(chan error)
	t.work <- func() { done <- Guard(f) }
	return <-done
}

// End ends the thread and waits until the kernel has detached all it traced, which comes
// before its id disappears. The wait is bounded; it takes some ten microseconds.
func (t *Thread) End() {
	t.Alarm.Drop()
	close(t.work)
	pid := os.Getpid()
	for range 2000 {
		if unix.Tgkill(pid, t.TID, 0) != nil {
			return
		}
		time.Sleep(100 * time.Microsecond)
	}
}

// Run runs f on an OS thread that ends with it, so that f may change what belongs to a thread, as its
// namespaces. It returns when f has; a panic of f is its error.
func Run(f func() error) error {
	done := make(chan error, 1)
	offMain(func() {
		var err error
		if fault := Guard(func() { err = f() }); fault != nil {
			err = fault
		}
		done <- err
	})
	return <-done
}
