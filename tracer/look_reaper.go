//go:build linux

package tracer

import (
	"slices"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// reaper frees a Looker from a PTRACE_SEIZE that waits for an exec which waits for us: exec holds the
// lock that SEIZE needs until every other thread of the process is reaped, those too that the Looker has
// asked to stop. A second OS thread reaps them. It sleeps on a timer of the kernel, which costs two system
// calls for a round of requests, and none for a Looker that asks one thread at a time.
//
// Source: de_thread in linux/fs/exec.c, ptrace_attach in linux/kernel/ptrace.c.
type reaper struct {
	timer   int // timerfd, one more than its number; 0 if there is none
	set     bool
	seizing atomic.Bool

	mu   sync.Mutex
	prey []int // threads that were asked, but leaders: exec does not wait for those
	over bool
}

// add notes a thread that was asked to stop.
func (r *reaper) add(w *Watch) {
	if w.tid == w.p.pid {
		return
	}
	r.mu.Lock()
	r.prey = append(r.prey, w.tid)
	r.mu.Unlock()
}

func (r *reaper) remove(w *Watch) {
	r.mu.Lock()
	if i := slices.Index(r.prey, w.tid); i >= 0 {
		r.prey = slices.Delete(r.prey, i, i+1)
	}
	r.mu.Unlock()
}

// seize attaches to a thread while others are asked.
func (r *reaper) seize(tid int) unix.Errno {
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
	r.timer = fd + 1
	go r.run(fd)
}

// end ends who waits for the timer, and closes it. No method is called afterwards.
func (r *reaper) end() {
	r.mu.Lock()
	r.over = true
	r.mu.Unlock()
	r.wake(tick)
}

func (r *reaper) run(timer int) {
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

// reap consumes the ends of threads that were asked, if a SEIZE waits. It tells whether all is over.
func (r *reaper) reap() (over bool) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.seizing.Load() {
		for _, tid := range r.prey {
			reap(tid)
		}
	}
	return r.over
}
