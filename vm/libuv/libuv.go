// Package libuv reads what an event loop of libuv waits for: the handles of the loop that a thread waits in, with their
// kinds, descriptors and times, and how many requests are under way.
//
// A loop is found without symbols: the thread waits in a call of epoll, and a word of its registers or its stack leads
// to a loop whose descriptor is the one of the call and whose handles lead back to it ([Find]). The package knows no
// language: who made a handle knows it by [Handle.Data].
//
// A list is read while the process runs. It is whole and of one moment where [Loop.Err] is nil: the loop's own number
// of active handles is that of the list, and its clock has not moved meanwhile. All that is read is bounded; a hostile
// process can show another list and nothing else.
//
// It is for x86-64. Sources: include/uv.h, include/uv/unix.h and src/uv-common.h of libuv 1.x, whose public structures
// keep their layout; seen in those of Node.js 16 to 26 (1.43 to 1.52).
package libuv

import (
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// Offsets in struct uv_loop_s, bytes.
const (
	loopActive    = 8  // unsigned: handles that are active and keep the loop
	loopHandles   = 16 // list of uv_handle_t.handle_queue
	loopRequests  = 32 // unsigned
	loopBackend   = 64 // int: descriptor of epoll
	loopTime      = 544
	loopSize      = 848
	loopHead      = loopBackend + 4
	maxHandles    = 1 << 14
	maxReadSteps  = 64 << 20
	handleMinimum = 96
)

// Offsets in struct uv_handle_s and in what begins with it, bytes.
const (
	handleData  = 0
	handleLoop  = 8
	handleType  = 16
	handleQueue = 32
	handleFlags = 88

	streamIO     = 136 // uv__io_t of a uv_stream_t
	pollIO       = 104
	udpIO        = 128
	ioFD         = 48 // in a uv__io_t
	timerDue     = 128
	timerRepeat  = 136
	signalNumber = 104
	processID    = 104
	watchedPath  = 96
	handleSpan   = 208 // up to the last field that is read
)

// Bits of uv_handle_t.flags since libuv 1.20.
const (
	active   = 1 << 2
	keeping  = 1 << 3 // UV_HANDLE_REF
	internal = 1 << 4
)

// kinds are the names of uv_handle_type, by number. Source: UV_HANDLE_TYPE_MAP in include/uv.h.
var kinds = [...]string{"", "async", "check", "fs_event", "fs_poll", "handle", "idle", "pipe", "poll", "prepare",
	"process", "stream", "tcp", "timer", "tty", "udp", "signal", "file"}

// small are the kinds of which nothing is read but what all handles have.
var small = []string{"async", "check", "fs_poll", "handle", "idle", "prepare"}

// Kinds of handles, as in [Handle.Kind].
const (
	Timer   = "timer"
	Signal  = "signal"
	Process = "process"
)

// Handle is one handle of a loop.
type Handle struct {
	Addr mem.Addr
	Data mem.Addr // what its user keeps there
	Kind string   // as libuv calls it
	// Active says that the loop waits for it. Keeps says that the loop does not end as long as it is active.
	Active, Keeps bool
	// Internal says that it is libuv's own.
	Internal bool
	FD       int // -1 for none
	// Due is when a timer ends next, by the clock of the loop, and Every how often it does again; 0: once.
	Due, Every time.Duration
	Number     int    // of a signal, or the id of a process
	Path       string // that a fs_event watches
}

// Loop is a loop, and what it waits for.
type Loop struct {
	Addr mem.Addr
	// Now is what the loop's clock, CLOCK_MONOTONIC in ms, was when it last asked.
	Now      time.Duration
	Handles  []Handle
	Requests int   // that other threads, or the kernel, work on: lookups of names, files, connections
	Err      error // why Handles may miss some, or mix moments
}

var (
	errMoved = errors.New("the event loop went on while its handles were read: the list may mix moments")
	errLong  = fmt.Errorf("more than %d handles", maxHandles)
)

var order = binary.LittleEndian

// reader reads structures of libuv.
type reader struct{ *view.View }

// Read reads the loop at a again and again until it finds it at rest, three times at most. It takes what it reads from
// b. It fails if there is none.
func Read(a mem.Addr, memory mem.Reader, b *work.Budget) (*Loop, error) {
	v := view.Over(nil, memory, b)
	v.Within(maxReadSteps)
	r := reader{&v}
	var l *Loop
	var err error
	for range 3 {
		if l, err = r.loop(a); err != nil || l.Err == nil {
			break
		}
	}
	return l, err
}

// fill fills b with the bytes at a.
func (r reader) fill(b []byte, a mem.Addr) error {
	_, err := r.ReadMem(b, a)
	return err
}

// loop reads the loop at a once.
func (r reader) loop(a mem.Addr) (*Loop, error) {
	var before, after [loopSize]byte
	if err := r.fill(before[:], a); err != nil {
		return nil, err
	}
	l := &Loop{Addr: a, Now: milliseconds(before[loopTime:]), Requests: int(order.Uint32(before[loopRequests:]))}
	l.Handles, l.Err = r.handles(a, before[:])
	if err := r.fill(after[:], a); err != nil {
		return nil, err
	}
	if l.Err == nil && milliseconds(after[loopTime:]) != l.Now {
		l.Err = errMoved
	}
	keep := 0
	for i := range l.Handles {
		if h := &l.Handles[i]; h.Active && h.Keeps {
			keep++
		}
	}
	if want := int(order.Uint32(after[loopActive:])); l.Err == nil && keep != want {
		l.Err = fmt.Errorf("%d handles were found of the %d that keep the loop", keep, want)
	}
	return l, nil
}

// AtRest fails if the loop l has gone on since it was read.
func AtRest(l *Loop, memory mem.Reader) error {
	var b [8]byte
	if _, err := memory.ReadMem(b[:], l.Addr+loopTime); err != nil {
		return err
	}
	if milliseconds(b[:]) != l.Now {
		return errMoved
	}
	return nil
}

// milliseconds is the time at the start of b. One that does not fit is 0: no clock has run so long.
func milliseconds(b []byte) time.Duration {
	const most = uint64(1<<63-1) / uint64(time.Millisecond)
	if n := order.Uint64(b); n <= most {
		return time.Duration(n) * time.Millisecond
	}
	return 0
}

// handles reads the list whose head is in the loop at a.
func (r reader) handles(a mem.Addr, loop []byte) ([]Handle, error) {
	head := a + loopHandles
	var out []Handle
	for at := mem.Addr(order.Uint64(loop[loopHandles:])); at != head; {
		if len(out) == maxHandles {
			return out, errLong
		}
		h, next, err := r.handle(at-handleQueue, a)
		if err != nil {
			return out, fmt.Errorf("read handle %d of the event loop: %w", len(out), err)
		}
		out = append(out, h)
		at = next
	}
	return out, nil
}

var errForeign = errors.New("it is of another loop")

// handle reads the handle at a, and where the next one has its place in the list.
func (r reader) handle(a, loop mem.Addr) (h Handle, next mem.Addr, err error) {
	var b [handleSpan]byte
	whole := r.fill(b[:], a)
	if whole != nil { // the smallest may lie at the end of a page
		clear(b[:])
		if err := r.fill(b[:handleMinimum], a); err != nil {
			return h, 0, err
		}
	}
	kind := order.Uint32(b[handleType:])
	if mem.Addr(order.Uint64(b[handleLoop:])) != loop || kind == 0 || kind >= uint32(len(kinds)) {
		return h, 0, errForeign
	}
	flags := order.Uint32(b[handleFlags:])
	h = Handle{Addr: a, Data: mem.Addr(order.Uint64(b[handleData:])), Kind: kinds[kind], FD: -1,
		Active: flags&active != 0, Keeps: flags&keeping != 0, Internal: flags&internal != 0}
	if whole != nil && !slices.Contains(small, h.Kind) {
		return h, 0, whole
	}
	return h, mem.Addr(order.Uint64(b[handleQueue:])), r.details(&h, b[:])
}

// details reads what handles of one kind have; b is the handle.
func (r reader) details(h *Handle, b []byte) (err error) {
	descriptor := func(at int) { h.FD = max(-1, int(int32(order.Uint32(b[at+ioFD:])))) }
	switch h.Kind {
	case "pipe", "tcp", "tty", "stream":
		descriptor(streamIO)
	case "poll":
		descriptor(pollIO)
	case "udp":
		descriptor(udpIO)
	case Timer:
		h.Due, h.Every = milliseconds(b[timerDue:]), milliseconds(b[timerRepeat:])
	case Signal:
		h.Number = int(int32(order.Uint32(b[signalNumber:])))
	case Process:
		h.Number = int(int32(order.Uint32(b[processID:])))
	case "fs_event":
		const longest = 4096
		var whole bool
		if h.Path, whole, err = r.Text(mem.Addr(order.Uint64(b[watchedPath:])), longest); !whole {
			h.Path = ""
		}
	}
	return err
}
