//go:build linux

package tracer

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// tick is how often the reaper checks.
const tick = 5 * time.Millisecond

// reaper frees an OS thread from a PTRACE_SEIZE that waits for an exec which waits for us: exec holds the
// lock that SEIZE needs until every other thread of the process is reaped, those too that this OS thread has
// seized. No signal ends that wait; a second OS thread reaps them. It sleeps on a timer of the kernel, which costs
// two system calls for a round of requests, and none where one thread is seized at a time.
//
// Source: de_thread in linux/fs/exec.c, ptrace_attach in linux/kernel/ptrace.c.
type reaper struct {
	timer   int // timerfd, one more than its number; 0 if there is none
	set     bool
	seizing atomic.Bool

	mu    sync.Mutex
	prey  []int // threads that were seized, but leaders: exec does not wait for those
	taken int   // of them, those that were reaped here
	over  bool
	gone  chan struct{} // closed when who waits for the timer has ended
}

// add notes a thread of p that was seized.
func (r *reaper) add(p *Process, tid int) {
	if tid == p.pid {
		return
	}
	r.mu.Lock()
	r.prey = append(r.prey, tid)
	r.mu.Unlock()
}

func (r *reaper) remove(tid int) {
	r.mu.Lock()
	if i := slices.Index(r.prey, tid); i >= 0 {
		r.prey = slices.Delete(r.prey, i, i+1)
	}
	r.mu.Unlock()
}

// clear forgets all threads and stops the timer.
func (r *reaper) clear() {
	r.rest()
	r.mu.Lock()
	r.prey, r.taken = r.prey[:0], 0
	r.mu.Unlock()
}

// reaped is how many threads were reaped since clear.
func (r *reaper) reaped() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.taken
}

// seize attaches to a thread, also while others are seized that an exec may wait for.
func (r *reaper) seize(tid int) unix.Errno {
	if len(r.prey) == 0 { // nobody else adds any
		return seize(tid)
	}
	if !r.set {
		r.start()
		r.wake(tick)
		r.set = true
	}
	r.seizing.Store(true)
	defer r.seizing.Store(false)
	return seize(tid)
}

// rest stops the timer.
func (r *reaper) rest() {
	if r.set {
		r.wake(0)
		r.set = false
	}
}

// wake lets the timer go off each period from now on; 0 means never.
func (r *reaper) wake(period time.Duration) {
	if r.timer == 0 {
		return
	}
	t := unix.NsecToTimespec(int64(period))
	_ = unix.TimerfdSettime(r.timer-1, 0, &unix.ItimerSpec{Interval: t, Value: t}, nil)
}

// start makes the timer and who waits for it. Without a timer, where no descriptor is left, nothing
// reaps.
func (r *reaper) start() {
	if r.timer != 0 {
		return
	}
	fd, err := unix.TimerfdCreate(unix.CLOCK_MONOTONIC, unix.TFD_CLOEXEC)
	if err != nil {
		return
	}
	r.timer, r.gone = fd+1, make(chan struct{})
	go r.run(fd)
}

// end ends who waits for the timer, and closes it. No method is called afterwards.
func (r *reaper) end() {
	if r.timer == 0 {
		return
	}
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.wake(time.Nanosecond)
	<-r.gone
}

func (r *reaper) run(timer int) {
	defer close(r.gone)
	defer unix.Close(timer)
	var times [8]byte
	for {
		if _, err := unix.Read(timer, times[:]); err != nil && err != unix.EINTR {
			return
		}
		if r.reap() {
			return
		}
	}
}

// reap consumes the ends of threads that were interrupted, if a SEIZE waits. It reports whether all is over.
func (r *reaper) reap() (over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seizing.Load() {
		for _, tid := range r.prey {
			if reap(tid) {
				r.taken++
			}
		}
	}
	return r.over
}
