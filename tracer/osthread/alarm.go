//go:build linux

package osthread

import (
	"os"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/fpstack/fpstack/tracer/breakable"
	"golang.org/x/sys/unix"
)

// AlarmPeriod is how often the alarm ends a system call of the tracer thread, which sees then
// whether it should go on.
const AlarmPeriod = 2 * time.Millisecond

// Alarm is a timer of the kernel that sends the kick signal to one thread, over and over
// while it is set: the call that it is to end may begin just after one signal. Most uses
// of it end before it first goes off, and cost two system calls.
//
// The signal of a timer is set aside when that is made. One sent by tgkill(2) is refused once the
// user's limit of pending signals (RLIMIT_SIGPENDING) is reached, which a target of the same user can see to. No timer
// can be made then either: a goroutine sends a signal that is not counted.
type Alarm struct {
	id   int32
	made bool
	kick *kicker // if no timer could be made
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
	_      [13 - unsafe.Sizeof(uintptr(0))/4]int32
}

// make creates the timer for thread tid, in which its signals are not blocked. The kernel may refuse (EAGAIN at the
// limit of pending signals).
func (a *Alarm) make(tid int) {
	e := sigevent{signo: int32(kickSignal), notify: notifySignal | notifyThreadID, tid: int32(tid)}
	_, _, errno := unix.RawSyscall(unix.SYS_TIMER_CREATE, unix.CLOCK_MONOTONIC,
		uintptr(unsafe.Pointer(&e)), uintptr(unsafe.Pointer(&a.id)))
	if a.made = errno == 0; !a.made {
		a.kick = startKicker(tid)
	}
}

// Set lets the alarm go off after first, and then each period; a first of 0 means never. Without a timer it goes off
// each alarmPeriod.
func (a *Alarm) Set(first, period time.Duration) {
	if !a.made {
		a.kick.set(first > 0)
		return
	}
	// it_interval, it_value
	spec := [2]unix.Timespec{unix.NsecToTimespec(int64(period)), unix.NsecToTimespec(int64(first))}
	unix.RawSyscall6(unix.SYS_TIMER_SETTIME, uintptr(a.id), 0, uintptr(unsafe.Pointer(&spec)), 0, 0, 0)
}

// Drop gives the timer back.
func (a *Alarm) Drop() {
	if a.made {
		unix.RawSyscall(unix.SYS_TIMER_DELETE, uintptr(a.id), 0, 0)
		a.made = false
	} else if a.kick != nil {
		a.kick.end()
	}
}

// kicker stands in for the timer of an alarm.
type kicker struct {
	on   atomic.Bool
	wake chan struct{} // one waits if on was set
}

func startKicker(tid int) *kicker {
	k := &kicker{wake: make(chan struct{}, 1)}
	if breakable.Handle(plainSignal) == nil { // the runtime's own handler would end this program
		go k.run(tid)
	}
	return k
}

func (k *kicker) set(on bool) {
	k.on.Store(on)
	if on {
		select {
		case k.wake <- struct{}{}:
		default:
		}
	}
}

func (k *kicker) end() {
	k.on.Store(false)
	close(k.wake)
}

func (k *kicker) run(tid int) {
	pid := os.Getpid()
	for range k.wake {
		for k.on.Load() {
			time.Sleep(AlarmPeriod)
			if k.on.Load() {
				_ = unix.Tgkill(pid, tid, plainSignal)
			}
		}
	}
}
