package libuv

import (
	"bytes"
	"reflect"
	"slices"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
)

const (
	loopAt  = mem.Addr(0x5000)
	firstAt = mem.Addr(0x6000) // of handles, one a page
	epollFD = 9
)

// drawing is a loop with handles as libuv has them in memory.
type drawing struct{ loop, handles []byte }

func put(b []byte, at int, v uint64) { order.PutUint64(b[at:], v) }

// handle draws another handle, and says where it is.
func (d *drawing) handle(kind, flags uint32, set func(b []byte)) {
	n := len(d.handles) / 0x1000
	a := firstAt + mem.Addr(len(d.handles))
	b := make([]byte, 0x1000)
	put(b, handleLoop, uint64(loopAt))
	order.PutUint32(b[handleType:], kind)
	order.PutUint32(b[handleFlags:], flags)
	put(b, handleQueue, uint64(loopAt+loopHandles))
	put(b, handleQueue+8, uint64(loopAt+loopHandles))
	if set != nil {
		set(b)
	}
	d.handles = append(d.handles, b...)
	if n == 0 {
		put(d.loop, loopHandles, uint64(a+handleQueue))
	} else {
		put(d.handles, (n-1)*0x1000+handleQueue, uint64(a+handleQueue))
		put(d.handles, n*0x1000+handleQueue+8, uint64(a-0x1000+handleQueue))
	}
	put(d.loop, loopHandles+8, uint64(a+handleQueue))
	if flags&active != 0 && flags&keeping != 0 {
		order.PutUint32(d.loop[loopActive:], order.Uint32(d.loop[loopActive:])+1)
	}
}

func (d *drawing) memory() mem.Reader {
	return mem.NewOverlay(nil, mem.Range{Start: loopAt, Data: d.loop}, mem.Range{Start: firstAt, Data: d.handles})
}

// drawn is a loop with five handles.
func drawn() *drawing {
	d := &drawing{loop: make([]byte, loopSize)}
	order.PutUint32(d.loop[loopBackend:], epollFD)
	order.PutUint32(d.loop[loopRequests:], 3)
	put(d.loop, loopTime, 1000)
	d.handle(1, active|internal, nil)
	d.handle(12, active|keeping, func(b []byte) {
		put(b, handleData, 0x7777)
		order.PutUint32(b[streamIO+ioFD:], 17)
	})
	d.handle(13, active|keeping, func(b []byte) { put(b, timerDue, 1500); put(b, timerRepeat, 250) })
	d.handle(16, keeping, func(b []byte) { order.PutUint32(b[signalNumber:], 15) })
	d.handle(3, active|keeping, func(b []byte) {
		put(b, watchedPath, uint64(firstAt)+0x4800)
		copy(b[0x800:], "/etc/"+string(bytes.Repeat([]byte{'p'}, 100)))
	})
	return d
}

func TestRead(t *testing.T) {
	l, err := Read(loopAt, drawn().memory(), nil)
	if err != nil || l.Err != nil {
		t.Fatal(err, l.Err)
	}
	want := []Handle{
		{Addr: firstAt, Kind: "async", Active: true, Internal: true, FD: -1},
		{Addr: firstAt + 0x1000, Data: 0x7777, Kind: "tcp", Active: true, Keeps: true, FD: 17},
		{Addr: firstAt + 0x2000, Kind: Timer, Active: true, Keeps: true, FD: -1, Due: 1500 * time.Millisecond,
			Every: 250 * time.Millisecond},
		{Addr: firstAt + 0x3000, Kind: Signal, Keeps: true, FD: -1, Number: 15},
		{Addr: firstAt + 0x4000, Kind: "fs_event", Active: true, Keeps: true, FD: -1,
			Path: "/etc/" + string(bytes.Repeat([]byte{'p'}, 100))},
	}
	if !slices.Equal(l.Handles, want) || l.Requests != 3 || l.Now != time.Second {
		t.Errorf("got %+v, want %+v", l, want)
	}
}

// moving is memory that another handle ends in each time that the loop is read.
type moving struct {
	mem.Reader
	d *drawing
}

func (m moving) ReadMem(b []byte, a mem.Addr) (int, error) {
	if a == loopAt {
		put(m.d.loop, loopTime, order.Uint64(m.d.loop[loopTime:])+1)
	}
	return m.Reader.ReadMem(b, a)
}

// TestIncomplete: a list that is not whole, or of several moments, says so, and ends.
func TestIncomplete(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(d *drawing)
	}{
		{"one that keeps the loop is missing", func(d *drawing) { order.PutUint32(d.loop[loopActive:], 4) }},
		{"a circle without the head", func(d *drawing) {
			put(d.handles, 0x2000+handleQueue, uint64(firstAt+handleQueue))
		}},
		{"a handle of another loop", func(d *drawing) { put(d.handles, 0x2000+handleLoop, 0x1234) }},
		{"a kind that is none", func(d *drawing) { order.PutUint32(d.handles[0x1000+handleType:], 99) }},
		{"the list leads nowhere", func(d *drawing) { put(d.handles, 0x4000+handleQueue, 0xdead0000) }},
	} {
		d := drawn()
		tc.change(d)
		if l, err := Read(loopAt, d.memory(), nil); err != nil || l.Err == nil || len(l.Handles) > maxHandles {
			t.Errorf("%s: %v, %+v", tc.name, err, l)
		}
	}
	d := drawn()
	if l, err := Read(loopAt, moving{d.memory(), d}, nil); err != nil || l.Err != errMoved {
		t.Errorf("the loop went on: %v, %v", err, l.Err)
	}
	if _, err := Read(0x123, d.memory(), nil); err == nil {
		t.Error("a loop was read where no memory is")
	}
}

// TestEveryReadFails: whichever read fails, what is read of the loop is the same, or it says that some is missing.
func TestEveryReadFails(t *testing.T) {
	count := &memory.Failing{Reader: drawn().memory()}
	want, err := Read(loopAt, count, nil)
	if err != nil || want.Err != nil || count.N < 4 {
		t.Fatalf("%d reads, %v, %v", count.N, err, want.Err)
	}
	memory.EachRead(drawn().memory(), count.N, count.N, func(what string, m *memory.Failing) {
		got, err := Read(loopAt, m, nil)
		if err == nil && got.Err == nil && !reflect.DeepEqual(got, want) {
			t.Errorf("%s: got %+v, want %+v, or that it is not whole", what, got, want)
		}
	})
}

// TestFind: the loop that a word of the stack or a register leads to, if it waits by the descriptor of the call.
func TestFind(t *testing.T) {
	table := maps.NewTable([]maps.Mapping{{Start: 0x5000, End: 0xb000, Perm: maps.Read | maps.Write}})
	thread := func(call int64, fd uint64, inRegister bool, words ...uint64) *snapshot.Thread {
		th := &snapshot.Thread{Arch: regs.AMD64, Syscall: &snapshot.Syscall{Number: call}}
		th.Syscall.Args[0] = fd
		b := make([]byte, 8*len(words)+3)
		for i, w := range words {
			put(b, 8*i+3, w) // the stack was copied from an odd address on
		}
		th.Stack = mem.Range{Start: 0x7ffd, Data: b}
		r := regs.New(regs.AMD64)
		if inRegister {
			r.Set(regs.AMD64R13, uint64(loopAt))
		}
		th.Registers = &r
		return th
	}
	onARM64 := func(call int64) *snapshot.Thread {
		r := regs.New(regs.ARM64)
		r.Set(regs.ARM64X0+20, uint64(loopAt))
		return &snapshot.Thread{Arch: regs.ARM64, Registers: &r,
			Syscall: &snapshot.Syscall{Number: call, Args: [6]uint64{epollFD}}}
	}
	for _, tc := range []struct {
		name string
		th   *snapshot.Thread
		ok   bool
	}{
		{"on the stack", thread(281, epollFD, false, 1, 0x6000, uint64(loopAt)), true},
		{"in a register", thread(232, epollFD, true), true},
		{"of another descriptor", thread(281, 8, true), false},
		{"in another call", thread(0, epollFD, true), false},
		{"in a register of arm64", onARM64(22), true},
		{"in another call of arm64", onARM64(281), false},
		{"only its handle", thread(281, epollFD, false, uint64(firstAt)), false},
	} {
		a, ok := NewFinder(drawn().memory(), nil).Find(tc.th, table)
		if ok != tc.ok || ok && a != loopAt {
			t.Errorf("%s: %#x, %t", tc.name, uint64(a), ok)
		}
	}
	d := drawn()
	put(d.handles, handleQueue+8, 0) // the first handle does not lead back
	if _, ok := NewFinder(d.memory(), nil).Find(thread(281, epollFD, true), table); ok {
		t.Error("a loop was found whose list is broken")
	}
}

// FuzzRead reads loops of a hostile process.
func FuzzRead(f *testing.F) {
	d := drawn()
	f.Add(d.loop, d.handles)
	f.Fuzz(func(t *testing.T, loop, handles []byte) {
		m := mem.NewOverlay(nil, mem.Range{Start: loopAt, Data: loop}, mem.Range{Start: firstAt, Data: handles})
		l, err := Read(loopAt, m, nil)
		if (l == nil) == (err == nil) || l != nil && len(l.Handles) > maxHandles {
			t.Fatalf("Read = %+v, %v", l, err)
		}
	})
}
