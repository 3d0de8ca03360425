//go:build linux

package tracer

import (
	"sync"
	"sync/atomic"
	"time"
)

// tick is how often a watchdog looks, and repeats what it does.
const tick = 5 * time.Millisecond

// watchdog frees the tracer thread from a system call that has no bound of its own and that no signal ends: a
// PTRACE_SEIZE that waits for an exec which waits for us, by reaping.
type watchdog struct {
	reaping atomic.Bool // a SEIZE is under way

	mu    sync.Mutex
	prey  []int // threads seized so far that may be reaped
	taken int   // of them, those that were
	quit  chan struct{}
	ended chan struct{}
}

func startWatchdog(room int) *watchdog {
	w := &watchdog{prey: make([]int, 0, room), quit: make(chan struct{}), ended: make(chan struct{})}
	started := make(chan struct{})
	go w.run(started)
	<-started // its start would compete for the CPU with the stop
	return w
}

// stop ends the watchdog and waits until it does nothing more.
func (w *watchdog) stop() {
	close(w.quit)
	<-w.ended
}

func (w *watchdog) run(started chan<- struct{}) {
	defer close(w.ended)
	ticker := time.NewTicker(tick)
	defer ticker.Stop()
	close(started)
	for {
		select {
		case <-w.quit:
			return
		case <-ticker.C:
			if w.reaping.Load() {
				w.reap()
			}
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
