//go:build linux

package tracer

import (
	"context"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// tick is how often a watchdog looks, and repeats what it does.
const tick = 5 * time.Millisecond

// watchdog frees the tracer thread from system calls that have no bound of their own: a
// waitid past its deadline or after ctx has ended, by the kick signal, and a PTRACE_SEIZE
// that waits for an exec which waits for us, by reaping.
type watchdog struct {
	tracer   int // thread to kick
	clock    time.Time
	deadline atomic.Int64 // of the wait under way, ns after clock; 0 if none
	reaping  atomic.Bool  // a SEIZE is under way

	mu    sync.Mutex
	prey  []int // threads seized so far that may be reaped
	taken int   // of them, those that were
	quit  chan struct{}
	ended chan struct{}
}

func startWatchdog(ctx context.Context, tracer int, clock time.Time, room int) *watchdog {
	w := &watchdog{tracer: tracer, clock: clock, prey: make([]int, 0, room),
		quit: make(chan struct{}), ended: make(chan struct{})}
	started := make(chan struct{})
	go w.run(ctx, started)
	<-started // its start would compete for the CPU with the stop
	return w
}

// stop ends the watchdog and waits until it does nothing more.
func (w *watchdog) stop() {
	close(w.quit)
	<-w.ended
}

func (w *watchdog) run(ctx context.Context, started chan<- struct{}) {
	defer close(w.ended)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	close(started)
	cancelled := ctx.Done()
	for {
		select {
		case <-w.quit:
			return
		case <-cancelled:
			cancelled = nil // once at once, then with each tick
		case <-ticker.C:
		}
		if d := w.deadline.Load(); d != 0 && (ctx.Err() != nil || int64(time.Since(w.clock)) > d) {
			_ = unix.Tgkill(os.Getpid(), w.tracer, kickSignal) // ESRCH: it has ended
		}
		if w.reaping.Load() {
			w.reap()
		}
	}
}

// mayReap adds a seized thread to those whose end is consumed while a SEIZE is under way.
// The leader is never one of them: exec does not wait for it, and if it is our child its
// end belongs to whoever started it.
func (w *watchdog) mayReap(tid int) {
	w.mu.Lock()
	w.prey = append(w.prey, tid)
	w.mu.Unlock()
}

// reap consumes the ends of seized threads. An exec in the target holds the lock that
// SEIZE needs until every other thread of the process is reaped.
// Source: de_thread in linux/fs/exec.c.
func (w *watchdog) reap() {
	w.mu.Lock()
	defer w.mu.Unlock()
	for _, tid := range w.prey {
		if reap(tid) {
			w.taken++
		}
	}
}
