//go:build linux

package manners

import (
	"encoding/binary"
	"fmt"
	"os"
	"strconv"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

// event is a signal as the witness saw it; struct event of testdata/witness.c.
type event struct{ Sig, Code, PID, Value int32 }

// How siginfo says who sent a signal (sigaction(2)).
const (
	siUser  = 0  // SI_USER: kill(2)
	siQueue = -1 // SI_QUEUE: sigqueue(3)
	siTkill = -6 // SI_TKILL: tgkill(2)
)

// realTime is SIGRTMIN+2 of glibc, a signal that is queued however many are pending.
const realTime = unix.Signal(36)

// logged is LOGGED of testdata/witness.c: so many events are kept.
const logged = 8192

// book reads the notes of a witness.
type book struct {
	mem *os.File
	at  int64
}

func bookOf(t testing.TB, c *target) book {
	t.Helper()
	at, err := strconv.ParseInt(c.ready, 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	f, err := os.Open(fmt.Sprintf("/proc/%d/task/%d/mem", c.pid, livingThread(c.pid)))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	return book{f, at}
}

// livingThread is a thread of pid that has not ended.
func livingThread(pid int) int {
	for _, tid := range threadIDs(pid) {
		if state := stateOf(tid); state != 'Z' && state != 0 {
			return tid
		}
	}
	return pid
}

func (b book) words(first, n int) []int64 {
	raw := make([]byte, 8*n)
	if _, err := b.mem.ReadAt(raw, b.at+int64(8*first)); err != nil {
		return make([]int64, n)
	}
	words := make([]int64, n)
	for i := range words {
		words[i] = int64(binary.LittleEndian.Uint64(raw[8*i:]))
	}
	return words
}

// turns are the counters of the threads.
func (b book) turns() []int64 { return b.words(0, 8) }

// count is the number of signals that were handled.
func (b book) count() int { return int(b.words(8, 1)[0]) }

// events are the signals that were handled, the last logged ones of them, in order.
func (b book) events(t testing.TB) []event {
	t.Helper()
	n := b.count()
	raw := make([]byte, 16*logged)
	if _, err := b.mem.ReadAt(raw, b.at+9*8); err != nil {
		t.Fatal(err)
	}
	var all []event
	for i := max(0, n-logged); i < n; i++ {
		at := raw[i%logged*16:]
		word := func(k int) int32 { return int32(binary.LittleEndian.Uint32(at[4*k:])) }
		all = append(all, event{word(0), word(1), word(2), word(3)})
	}
	return all
}

// queue sends a signal with a value, as sigqueue(3) does. It is false if the receiver's
// queue is full (RLIMIT_SIGPENDING) or nobody is there.
func queue(pid int, sig unix.Signal, value int32) bool {
	var info [32]int32 // siginfo_t; the union begins at a multiple of a pointer's size
	const union = 2 + int(unsafe.Sizeof(uintptr(0)))/4
	info[0], info[2] = int32(sig), siQueue
	info[union], info[union+1], info[union+2] = int32(os.Getpid()), int32(os.Getuid()), value
	_, _, e := unix.RawSyscall(unix.SYS_RT_SIGQUEUEINFO, uintptr(pid), uintptr(sig), uintptr(unsafe.Pointer(&info)))
	return e == 0
}
