//go:build linux

package tracer

import (
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

// alarmPeriod is how often the alarm ends a wait of the tracer thread. A wait checks then
// whether it should go on.
const alarmPeriod = 2 * time.Millisecond

// alarm is a timer of the kernel that sends the kick signal to one thread, over and over
// while it is set: the wait that it is to end may begin just after one signal. Most uses
// of it end before it first goes off, and cost two system calls.
//
// The signal of a timer is set aside when that is made. One sent by tgkill(2) is refused once the
// user's limit of pending signals (RLIMIT_SIGPENDING) is reached, which a target of the same user can see to.
type alarm struct {
	id   int32
	made bool
}

// Notification by a signal to one thread. Source: linux/include/uapi/asm-generic/siginfo.h.
const (
	notifySignal   = 0 // SIGEV_SIGNAL
	notifyThreadID = 4 // SIGEV_THREAD_ID
)

// sigevent is struct sigevent of the kernel, 64 bytes.
type sigevent struct {
	value  uintptr
	signo  int32
	notify int32
	tid    int32
	_      [13 - wordSize/4]int32
}

// make creates the timer for thread tid, in which the kick signal is not blocked. Without it, where the
// kernel refuses (EAGAIN at the limit of pending signals), a wait checks by itself from time to time.
func (a *alarm) make(tid int) {
	e := sigevent{signo: int32(kickSignal), notify: notifySignal | notifyThreadID, tid: int32(tid)}
	_, _, errno := unix.RawSyscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC,
		uintptr(unsafe.Pointer(&e)), uintptr(unsafe.Pointer(&a.id)))
	a.made = errno == 0
}

// set lets the alarm go off after first, and then each period; a first of 0 means never.
func (a *alarm) set(first, period time.Duration) {
	if !a.made {
		return
	}
	// it_interval, it_value
	spec := [2]unix.Timespec{unix.NsecToTimespec(int64(period)), unix.NsecToTimespec(int64(first))}
	unix.RawSyscall6(unix.SYS_TIMER_SETTIME, uintptr(a.id), 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
}

func (a *alarm) drop() {
	if a.made {
		unix.RawSyscall(unix.SYS_TIMER_DELETE, uintptr(a.id), 0, 0)
	}
	a.made = false
}
