//go:build linux

package breakable

import (
	"os"
	"runtime"
	"testing"
	"time"
	"unsafe"

	"golang.org/x/sys/unix"
)

const signal = unix.Signal(62)

// kickEach sends the signal to the calling thread again and again until the test ends: one that comes before the call
// is entered does not end it.
func kickEach(t *testing.T, d time.Duration) {
	t.Helper()
	runtime.LockOSThread()
	tid, over, gone := unix.Gettid(), make(chan struct{}), make(chan struct{})
	go func() {
		defer close(gone)
		for {
			select {
			case <-over:
				return
			case <-time.After(d):
				_ = unix.Tgkill(os.Getpid(), tid, signal)
			}
		}
	}()
	t.Cleanup(func() { close(over); <-gone; runtime.UnlockOSThread() })
}

// restart sets or clears SA_RESTART of the signal's action, the handler stays.
func restart(t *testing.T, on bool) {
	t.Helper()
	var action [8]uintptr
	at := uintptr(unsafe.Pointer(&action))
	if _, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(signal), 0, at, kernelSigset, 0, 0); e != 0 {
		t.Fatal(e)
	}
	action[1] &^= saRestart
	if on {
		action[1] |= saRestart
	}
	if _, _, e := unix.RawSyscall6(unix.SYS_RT_SIGACTION, uintptr(signal), at, 0, kernelSigset, 0, 0); e != 0 {
		t.Fatal(e)
	}
}

// TestCallThatIsRestarted reads from an empty pipe with a signal whose action asks for a restart: as with
// ERESTARTNOINTR the kernel steps back to the instruction of the call before it runs the handler.
func TestCallThatIsRestarted(t *testing.T) {
	if err := Handle(signal); err != nil {
		t.Fatal(err)
	}
	restart(t, true)
	var p [2]int
	if err := unix.Pipe2(p[:], unix.O_CLOEXEC); err != nil {
		t.Fatal(err)
	}
	defer unix.Close(p[0])
	defer unix.Close(p[1])
	kickEach(t, 2*time.Millisecond)
	var b [8]byte
	for range 20 {
		at := uintptr(unsafe.Pointer(&b))
		if n, e := Call(unix.SYS_READ, uintptr(p[0]), at, 8, 0); e != unix.EINTR {
			t.Fatalf("read of an empty pipe: %d, %v, want EINTR", n, e)
		}
	}
	if _, err := unix.Write(p[1], []byte("four")); err != nil {
		t.Fatal(err)
	}
	n, e := Call(unix.SYS_READ, uintptr(p[0]), uintptr(unsafe.Pointer(&b)), 8, 0)
	for e == unix.EINTR {
		n, e = Call(unix.SYS_READ, uintptr(p[0]), uintptr(unsafe.Pointer(&b)), 8, 0)
	}
	if n != 4 || e != 0 || string(b[:4]) != "four" {
		t.Errorf("read: %d, %v, %q, want 4 bytes", n, e, b[:4])
	}
}

// TestHandler sees that a signal leaves all other code alone, and that Handle can be repeated.
func TestHandler(t *testing.T) {
	for range 2 {
		if err := Handle(signal); err != nil {
			t.Fatal(err)
		}
	}
	kickEach(t, 50*time.Microsecond)
	sum := 0
	for i := range 50_000_000 {
		sum += i & 1
	}
	if sum != 25_000_000 {
		t.Errorf("a loop counted to %d", sum)
	}
}

func TestCallThatFails(t *testing.T) {
	if r, e := Call(unix.SYS_CLOSE, ^uintptr(0), 0, 0, 0); e != unix.EBADF || r != ^uintptr(0) {
		t.Errorf("close of no file: %d, %v, want EBADF", r, e)
	}
	if r, e := Call(unix.SYS_GETPID, 0, 0, 0, 0); e != 0 || int(r) != os.Getpid() {
		t.Errorf("getpid: %d, %v, want %d", r, e, os.Getpid())
	}
}
