package waits

import (
	"slices"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/procfs"
)

// Numbers of the calls of the futex family. Source: the tables of numbers in linux/arch/*/entry/syscalls.
const (
	futexWaitv = 449
	futexWait2 = 455 // futex_wait
)

// IsFutex reports whether number n of the architecture of that name is a call of the futex family.
func IsFutex(arch string, n int64) bool {
	switch {
	case n == futexWaitv || n == futexWait2:
		return true
	case arch == "amd64":
		return n == 202
	case arch == "386":
		return n == 240 || n == 422 // futex_time64
	}
	return n == 98 && arch == "arm64"
}

// Commands of futex(2), the low seven bits of its second argument. Source: linux/futex.h.
const (
	opWait       = 0
	opLockPI     = 6
	opWaitBitset = 9
	opWaitPI     = 11 // WAIT_REQUEUE_PI
	opLockPI2    = 13

	flagPrivate  = 128
	flagRealtime = 256
)

// futexCall is a wait of the futex family as its arguments show it.
type futexCall struct {
	t        *Thread
	p        *Process
	call     procfs.Syscall
	u        mem.Addr // the futex word
	op       uint32   // command without flags
	private  bool
	realtime bool
	val      uint32 // what the word was when the thread fell asleep
	limit    mem.Addr
	narrow   bool // the timespec at limit has 32-bit members
	word     uint32
}

// futexCall decodes the call that t is blocked in. It is false for another call.
func (s *study) futexCall(t *Thread) (f futexCall, ok bool) {
	call := t.First.Call
	if call.Number, ok = s.number(t); !ok || !IsFutex(t.Process.Arch, call.Number) {
		return f, false
	}
	return decodeFutex(t, call), true
}

// decodeFutex decodes a call of the futex family.
func decodeFutex(t *Thread, call procfs.Syscall) futexCall {
	a := call.Args
	f := futexCall{t: t, p: t.Process, call: call, u: mem.Addr(a[0]), val: uint32(a[2]), limit: mem.Addr(a[3])}
	switch call.Number {
	case futexWaitv:
		f.op, f.private = opWaitBitset, true
		return f
	case futexWait2:
		const private = 0x80 // FUTEX2_PRIVATE
		f.op, f.val, f.private, f.limit = opWaitBitset, uint32(a[1]), a[3]&private != 0, mem.Addr(a[4])
		f.realtime = a[5] == 0
		return f
	}
	op := uint32(a[1])
	f.op, f.private, f.realtime = op&127, op&flagPrivate != 0, op&flagRealtime != 0
	f.narrow = call.Number == 240
	return f
}

// futex says what t waits for in a call of the futex family.
func (s *study) futex(f *futexCall, w *Wait) {
	w.Object = Object{Kind: kindFutexKind, Addr: f.u, Key: s.key(f, f.u)}
	if f.call.Number == futexWaitv {
		w.Object = Object{Kind: kindFutexes}
		s.anybody(f, w)
		return
	}
	r := s.memory(f.p)
	s.timeout(r, f, w)
	var ok bool
	f.word, ok = r.u32(f.u)
	r.prefetch(f.u-48, 48+64)
	generic := s.generic(r, f)
	if r.pending {
		return
	}
	if ok {
		w.Evidence = append(w.Evidence, "futex word "+hex(uint64(f.word)))
	}
	switch {
	case s.runtimeLock(f, w):
	case s.named(r, f, w):
	case f.op == opLockPI || f.op == opLockPI2:
		w.Object.Kind = kindPiMutex
		s.heldByWord(r, f, w, f.u)
	case !generic && !s.foreign(f) && s.shape(r, f, w):
	case s.fromTable(afterShapes, f, w):
	default:
		s.anybody(f, w)
		w.Note = "and nothing shows what it is part of"
	}
}

// shape recognises what libc made by its words alone.
func (s *study) shape(r *reader, f *futexCall, w *Wait) bool {
	switch s.library(f) {
	case musl:
		return s.muslShape(r, f, w)
	case glibc:
		return s.glibcShape(r, f, w)
	}
	return s.glibcShape(r, f, w) || s.muslShape(r, f, w)
}

// anybody makes w a wait that every other thread of the process could end, if the futex is private: nobody else has
// its word.
func (s *study) anybody(f *futexCall, w *Wait) {
	w.Certainty = Possible
	if w.Object.Key.Class != Private {
		w.Mode, w.Unlisted = Unknown, "any process that maps the same memory could end it"
		if w.Wakers = s.mappers(f, w.Object.Key); len(w.Wakers) > 0 {
			w.Mode = Any
		}
		return
	}
	w.Mode, w.Wakers = Any, []Waker{{PID: f.p.PID}}
}

// mappers are the other processes that were read and map the memory that a shared key lies in.
func (s *study) mappers(f *futexCall, k Key) (all []Waker) {
	for _, p := range s.facts.Processes {
		if k.Class != Shared || p == f.p || p.Maps == nil || len(all) >= maxReached {
			continue
		}
		if slices.ContainsFunc(p.Maps.All(), func(m maps.Mapping) bool {
			return m.Perm&maps.Shared != 0 && m.Dev == k.A && m.Inode == k.B
		}) {
			all = append(all, Waker{PID: p.PID})
		}
	}
	return all
}

// key is the identity of the object at addr. A futex is only shared if its memory is.
func (s *study) key(f *futexCall, addr mem.Addr) Key {
	if !f.private && f.p.Maps != nil {
		if m := f.p.Maps.Find(addr); m != nil && m.Perm&maps.Shared != 0 {
			return Key{Shared, m.Dev, m.Inode, uint64(m.Offset) + uint64(addr-m.Start)}
		}
	}
	return Key{Private, uint64(f.p.Space), uint64(addr), 0}
}

// timeout says whether the wait ends by itself, and when.
func (s *study) timeout(r *reader, f *futexCall, w *Wait) {
	if f.limit == 0 {
		return
	}
	w.Timed = true
	if f.op == opWait {
		return // relative: when it began is not known
	}
	seconds, nanos, ok := r.timespec(f.limit, f.narrow)
	if !ok {
		return
	}
	until := time.Duration(seconds)*time.Second + time.Duration(nanos)
	passed := f.t.First.At.Sub(f.p.At)
	switch {
	case f.realtime || f.op == opLockPI:
		w.Left, w.HasLeft = time.Unix(seconds, nanos).Sub(f.t.First.At), true
	case f.p.Clock != 0:
		w.Left, w.HasLeft = until-f.p.Clock-passed, true
	}
	w.Left = max(0, w.Left)
}

// libraries that make futex calls.
type library uint8

const (
	otherLibrary library = iota // a static program, or a runtime of its own
	glibc
	musl
)

// library is whose code made the call, by the file it lies in.
func (s *study) library(f *futexCall) library {
	return libraryOf(s.mapping(f.p, f.call.PC))
}

// libraryOf is which of them is mapped there.
func libraryOf(m *maps.Mapping) library {
	if m == nil {
		return otherLibrary
	}
	switch name := base(m.Path); {
	case name == "libc.so" || hasPrefix(name, "ld-musl-", "libc.musl-"):
		return musl
	case name == "libc.so.6" || hasPrefix(name, "libc-2.", "libpthread", "ld-linux", "ld-2."):
		return glibc
	}
	return otherLibrary
}

// generic reports whether the call was made by libc's syscall(2): then libc did not make the wait, but Rust, libstdc++
// and others of whose words libc's shapes are not true. It moves the arguments along, the last one right before the
// call (sysdeps/unix/sysv/linux/*/syscall.S of glibc), which nothing else does.
func (s *study) generic(r *reader, f *futexCall) bool {
	code := machines[f.p.Arch].generic
	if code == "" {
		return false
	}
	b := make([]byte, len(code))
	return r.fill(b, f.call.PC-mem.Addr(len(code))) && string(b) == code
}
