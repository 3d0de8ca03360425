package waits

import (
	"context"
	"encoding/binary"
	"fmt"
	stdmaps "maps"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/procfs"
)

// drawn is a process that a test draws: memory from labelled words, and threads in calls. It is a Source of itself.
type drawn struct {
	memory map[mem.Addr]byte
	facts  *Facts
	moves  map[int]bool   // threads that run between their two readings
	wakes  map[int]bool   // threads that are woken between them and have not run
	again  map[int]bool   // threads that were read a second time, and whether with their calls
	asleep map[int]uint64 // see Thread.Asleep
	reads  int
}

const (
	heap  = 0x10000 // writable
	code  = 0x50000 // libc.so.6
	stack = 0x700000
	// program is where the code of the program itself is.
	program = 0x60000
)

// draw makes a process of those threads, each blocked in a call of the futex family.
func draw(threads ...*Thread) *drawn {
	d := &drawn{memory: map[mem.Addr]byte{}, moves: map[int]bool{}, wakes: map[int]bool{}, again: map[int]bool{},
		facts: &Facts{}}
	p := &Process{PID: 100, Comm: "drawn", Asked: true, Word: 8, Arch: "amd64", Space: 100, Threads: threads,
		At: time.Unix(1000, 0), Clock: 500 * time.Second,
		Maps: maps.NewTable([]maps.Mapping{
			{Start: heap, End: heap + 0x10000, Perm: maps.Read | maps.Write},
			{Start: code, End: code + 0x1000, Perm: maps.Read | maps.Exec, Path: "/lib/libc.so.6", Inode: 7},
			{Start: program, End: program + 0x1000, Perm: maps.Read | maps.Exec, Path: "/bin/drawn", Inode: 8},
			{Start: stack, End: stack + 0x10000, Perm: maps.Read | maps.Write}})}
	d.facts.Add(p)
	return d
}

// futexThread is a thread that waits on u.
func futexThread(tid int, u mem.Addr, op, val uint32) *Thread {
	call := procfs.Syscall{Number: 202, Args: [6]uint64{uint64(u), uint64(op), uint64(val)}, SP: stack + 0x8000,
		PC: code + 0x800}
	return &Thread{TID: tid, Inner: tid, Comm: fmt.Sprint("t", tid), State: 'S',
		First: Reading{At: time.Now(), Known: true, Blocked: true, Call: call}}
}

// words puts 32-bit words at addr.
func (d *drawn) words(addr mem.Addr, words ...uint32) {
	for i, w := range words {
		var b [4]byte
		binary.LittleEndian.PutUint32(b[:], w)
		for j, x := range b {
			d.memory[addr+mem.Addr(4*i+j)] = x
		}
	}
}

// longs puts 64-bit words at addr.
func (d *drawn) longs(addr mem.Addr, words ...uint64) {
	for i, w := range words {
		d.words(addr+mem.Addr(8*i), uint32(w), uint32(w>>32))
	}
}

// mutex draws a pthread_mutex_t of glibc.
func (d *drawn) mutex(addr mem.Addr, lock, owner, kind uint32) {
	d.words(addr, lock, 0, owner, 1, kind)
}

func (d *drawn) Read(_ context.Context, f *Facts, n Need) error {
	d.reads++
	for pid, lines := range n.Lines {
		for _, at := range lines {
			var b *[Line]byte
			p := f.Process(pid)
			if p.Maps.Find(at) != nil {
				b = new([Line]byte)
				for i := range b {
					b[i] = d.memory[at+mem.Addr(i)]
				}
			}
			p.Memory.Keep(at, b, time.Now())
		}
	}
	for _, id := range n.Owners {
		f.Gone(0, id)
	}
	for _, tid := range n.Asleep {
		t := f.Thread(tid)
		t.Asleep, t.HasAsleep = d.asleep[tid], true
	}
	return nil
}

func (d *drawn) Again(_ context.Context, threads []*Thread, calls bool) error {
	for _, t := range threads {
		t.Last = t.First
		t.Last.At = time.Now()
		if t.Last.HasCall = calls; !calls || d.wakes[t.TID] {
			t.Last.Blocked, t.Last.Call = false, procfs.Syscall{}
		}
		d.again[t.TID] = calls
		if d.moves[t.TID] {
			t.Last.Counters.Switches++
		}
	}
	return nil
}

func (d *drawn) examine(t testing.TB) *Graph {
	t.Helper()
	g, err := Examine(context.Background(), d, d.facts)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func kinds(g *Graph) (list []CycleKind) {
	for i := range g.Cycles {
		list = append(list, g.Cycles[i].Kind)
	}
	return list
}

const (
	private     = flagPrivate
	untimedPriv = opWaitBitset | flagPrivate | flagRealtime
)

func TestDeadlock(t *testing.T) {
	abba := func() *drawn {
		d := draw(futexThread(100, heap, private, 2), futexThread(101, heap+0x100, private, 2))
		d.mutex(heap, 2, 101, 0)
		d.mutex(heap+0x100, 2, 100, 0)
		return d
	}
	for _, c := range []struct {
		name   string
		change func(d *drawn)
		want   []CycleKind
	}{
		{"two mutexes", func(*drawn) {}, []CycleKind{Deadlock}},
		{"a thread ran meanwhile", func(d *drawn) { d.moves[101] = true }, nil},
		{"a time limit", func(d *drawn) {
			call := &d.facts.Thread(100).First.Call
			call.Args[1], call.Args[3] = untimedPriv, heap+0x200
			d.longs(heap+0x200, 2000, 0)
		}, []CycleKind{Passing}},
		{"owner changes hands", func(d *drawn) { d.mutex(heap, 2, 0, 0) }, nil},
		{"counters are not known", func(d *drawn) { d.facts.Thread(100).First.Known = false }, []CycleKind{Supposed}},
		{"the owner runs", func(d *drawn) { d.facts.Thread(101).First.Blocked = false }, nil},
		{"a kind that there is not", func(d *drawn) { d.words(heap+16, 0x10000) }, []CycleKind{Stuck}},
	} {
		t.Run(c.name, func(t *testing.T) {
			d := abba()
			c.change(d)
			g := d.examine(t)
			if got := kinds(g); !slices.Equal(got, c.want) {
				t.Errorf("cycles %v, want %v; waits %+v", got, c.want, g.Waits)
			}
		})
	}
}

// A mutex's owner is read once more when it was not known yet that it does not run.
func TestOwnerIsReadAfterItsCounters(t *testing.T) {
	d := draw(futexThread(100, heap, private, 2), futexThread(101, heap+0x100, private, 2))
	d.mutex(heap, 2, 101, 0)
	d.mutex(heap+0x100, 2, 100, 0)
	early := [Line]byte{0: 2, 8: 101, 12: 1}
	d.facts.Process(100).Memory.Keep(heap, &early, time.Now().Add(-time.Hour))
	g := d.examine(t)
	if len(g.Cycles) != 1 || g.Cycles[0].Kind != Deadlock {
		t.Fatalf("cycles %v", kinds(g))
	}
	if at := d.facts.Process(100).Memory.readAt(heap); time.Since(at) > time.Minute {
		t.Error("an edge rests on a word that was read before its owner was known not to run")
	}
}

func TestShapes(t *testing.T) {
	for _, c := range []struct {
		name  string
		op    uint32
		val   uint32
		at    mem.Addr // of the futex word, from heap on
		draw  func(d *drawn)
		words string
	}{
		{"recursive", private, 2, 0, func(d *drawn) { d.mutex(heap, 2, 101, 1) },
			"recursive mutex 0x10000 held by 101"},
		{"owner has exited", private, 2, 0, func(d *drawn) { d.mutex(heap, 2, 999, 0) },
			"mutex 0x10000, held by thread 999, which has exited"},
		{"robust", 0, waiters | 101, 0, func(d *drawn) { d.mutex(heap, waiters|101, 101, kindRobust) },
			"robust mutex 0x10000 held by 101"},
		{"robust, word of a private futex", private, waiters | 101, 0,
			func(d *drawn) { d.mutex(heap, waiters|101, 101, kindRobust) }, "futex 0x10000"},
		{"priority inheritance", opLockPI | private, 0, 0, func(d *drawn) { d.mutex(heap, waiters|101, 101, kindPI) },
			"priority-inheritance mutex 0x10000 held by 101"},
		{"condition variable", untimedPriv, 0, 40, func(d *drawn) {
			d.longs(stack+0x8040, heap, heap+0x100)
			d.mutex(heap+0x100, 0, 0, 0)
		}, "condition variable 0x10000 (with mutex 0x10100)"},
		{"condition variable whose mutex is none", untimedPriv, 0, 40, func(d *drawn) {
			d.longs(stack+0x8040, heap, heap+0x100)
			d.words(heap+0x110, 0xffffffff)
		}, "futex 0x10028"},
		{"semaphore", untimedPriv, 0, 0, func(d *drawn) { d.words(heap, 0, 3) }, "semaphore 0x10000"},
		{"barrier", private, 0, 4, func(d *drawn) { d.words(heap, 2, 0, 5, 0) },
			"barrier 0x10000 (2 of 5 threads have come)"},
		{"rwlock that a writer has", untimedPriv, 3, 8, func(d *drawn) { d.words(heap, 3, 0, 3, 0, 0, 0, 101, 0) },
			"rwlock 0x10000 held by 101"},
		{"rwlock that readers have", untimedPriv, 2, 8, func(d *drawn) { d.words(heap, 2<<3|2, 0, 2, 0, 0, 0, 0, 0) },
			"rwlock 0x10000, held by 2 readers"},
		{"stdio", private, 2, 0, func(d *drawn) {
			d.words(heap, 2, 1)
			d.longs(heap+8, heap+0x400)
			d.longs(heap+0x400, heap+0x400, 0, heap+0x400)
			d.words(heap+0x400+720, 101)
		}, "lock of a stdio FILE 0x10000 held by 101"},
		{"join", opWaitBitset | flagRealtime, 101, 0x400 + 720, func(d *drawn) {
			d.longs(heap+0x400, heap+0x400, 0, heap+0x400)
			d.words(heap+0x400+720, 101)
		}, `waits for thread 101 "o" to end`},
		{"parked by libc", untimedPriv, 0, stack + 0x8010 - heap, func(*drawn) {}, "parked for ever by libc"},
		{"Rust's wait", opWaitBitset | private, 2, 0, func(d *drawn) { d.mutex(heap, 2, 101, 0) },
			"futex 0x10000, and nothing shows what it is part of"},
		{"made by syscall(2)", private, 2, 0, func(d *drawn) {
			d.mutex(heap, 2, 101, 0)
			d.longs(code+0x7f9, 0x0f0824_4c8b4c|0x05<<48)
		}, "futex 0x10000"},
		{"nothing but zeros", private, 2, 0, func(*drawn) {}, "futex 0x10000"},
		{"not mapped", private, 2, 0x100000, func(*drawn) {}, "futex 0x110000"},
	} {
		t.Run(c.name, func(t *testing.T) {
			running := &Thread{TID: 101, Inner: 101, Comm: "o", State: 'R', First: Reading{At: time.Now(), Known: true}}
			d := draw(futexThread(100, heap+c.at, c.op, c.val), running)
			c.draw(d)
			g := d.examine(t)
			if got := g.Words(g.Of(100)); !strings.Contains(got, c.words) {
				t.Errorf("it %q, want %q", got, c.words)
			}
		})
	}
}

func TestThreadsBehindAndRoots(t *testing.T) {
	sleeper := &Thread{TID: 100, Inner: 100, Comm: "t", State: 'S', First: Reading{At: time.Now(), Known: true}}
	d := draw(sleeper, futexThread(101, heap, private, 2), futexThread(102, heap+0x100, private, 2),
		futexThread(103, heap+0x100, private, 2))
	d.mutex(heap, 2, 100, 0)
	d.mutex(heap+0x100, 2, 101, 0)
	g := d.examine(t)
	if len(g.Roots) != 1 || g.Roots[0].TID != 100 || !slices.Equal(g.Roots[0].Behind, []int{101, 102, 103}) {
		t.Errorf("roots %+v, want thread 100 with three behind", g.Roots)
	}
	if g.Waiting != 3 || g.Owned != 3 {
		t.Errorf("%d waiting, %d owned, want 3 and 3", g.Waiting, g.Owned)
	}
}

// The word that a thread of parking_lot sleeps on is its own: two that want one lock are shown so.
func TestParkingLot(t *testing.T) {
	for _, c := range []struct {
		function, kind string
		key            uint64
		state          uint32
		at             mem.Addr
	}{
		{"parking_lot::raw_mutex::RawMutex::lock_slow", "parking_lot Mutex", heap + 0x101, 3 << 8, heap + 0x101},
		{"parking_lot::raw_rwlock::RawRwLock::lock_exclusive_slow", "parking_lot RwLock", heap + 0x109, 9,
			heap + 0x108},
		{"parking_lot::condvar::Condvar::wait_until_internal", "parking_lot Condvar", heap + 0x110, heap, heap + 0x110},
		{"parking_lot::raw_mutex::RawMutex::lock_slow", "parking_lot Mutex", code, 3, 0},         // no lock is there
		{"parking_lot::raw_mutex::RawMutex::lock_slow", "parking_lot Mutex", heap + 0x101, 0, 0}, // it is free
		{"parking_lot_core::parking_lot::park", "parking_lot lock", heap + 0x100, 1, heap + 0x100},
	} {
		d := draw(futexThread(100, heap+0x820, private, 1), futexThread(101, heap+0x920, private, 1))
		d.words(mem.Addr(c.key)&^3, c.state)
		for i, tid := range []int{100, 101} {
			d.facts.Thread(tid).Stack = []string{"syscall", c.function, "main"}
			d.longs(heap+0x800+mem.Addr(i)*0x100, c.key)
			d.words(heap+0x820+mem.Addr(i)*0x100, 1)
		}
		g := d.examine(t)
		for i, tid := range []int{100, 101} {
			want := c.at
			if want == 0 {
				want = heap + 0x820 + mem.Addr(i)*0x100
			}
			if o := g.Of(tid).Object; o.Kind.Noun != c.kind || o.Addr != want {
				t.Errorf("%s with key %#x: %q at %#x, want %q at %#x", c.function, c.key, o.Kind.Noun, o.Addr, c.kind,
					want)
			}
		}
	}
}

// Libc parks a thread on a word of its own frame, beside which anything may lie; what a program has on its stack lies
// behind the return address by which libc goes back to it.
func TestParked(t *testing.T) {
	const sp, near, far = stack + 0x8000, stack + 0x8054, stack + 0x80a0
	returns := func(d *drawn, at, code mem.Addr) { // a return address, behind call rel32
		d.longs(at, uint64(code))
		d.longs(code-8, 0xe8<<24)
	}
	for _, c := range []struct {
		name  string
		at    mem.Addr
		draw  func(d *drawn)
		words string
	}{
		{"beside a word like a count", near, func(d *drawn) {
			returns(d, sp+0x38, code+0x200)
			d.words(near, 0, 0x3f00)
		}, "parked for ever by libc"},
		{"a pointer to the program's code that is no return address", near, func(d *drawn) {
			returns(d, sp+0x38, code+0x200)
			d.longs(sp+0x40, program+0x100)
			d.words(near, 0, 0x3f00)
		}, "parked for ever by libc"},
		{"a semaphore of the program", far, func(d *drawn) {
			returns(d, sp+0x38, code+0x200)
			returns(d, sp+0x48, program+0x100)
			d.words(far, 0, 2)
		}, "semaphore"},
		{"a semaphore while it has a priority-inheritance mutex", far, func(d *drawn) {
			returns(d, sp+0x48, program+0x100)
			d.longs(sp+0x50, heap)
			d.mutex(heap, 100, 100, 0x20)
			d.words(far, 0, 2)
		}, "semaphore"},
		{"a condition variable with such a mutex", far, func(d *drawn) {
			returns(d, sp+0x48, program+0x100)
			d.longs(sp+0x50, far-40, heap)
			d.mutex(heap, 101, 101, 0x20)
		}, "condition variable"},
		{"a word of the program that nothing shows", far, func(d *drawn) {
			returns(d, sp+0x48, program+0x100)
		}, "nothing shows what it is part of"},
		{"a return address that was left over, and the mutex", near, func(d *drawn) {
			returns(d, sp+0x20, program+0x100)
			returns(d, sp+0x38, code+0x200)
			d.longs(sp+0x60, heap)
			d.mutex(heap, 1<<31|101, 0, 0x20)
			d.words(near, 0, 0x7fffffff)
		}, "parked for ever by libc"},
	} {
		d := draw(futexThread(100, c.at, untimedPriv, 0), futexThread(101, heap+0x800, private, 7))
		c.draw(d)
		g := d.examine(t)
		if got := g.Words(g.Of(100)); !strings.Contains(got, c.words) {
			t.Errorf("%s: it %q, want %q", c.name, got, c.words)
		}
	}
}

// Calls are read a second time of what may be stuck alone, and nothing of who waits for one that runs.
func TestReadAgain(t *testing.T) {
	runs := &Thread{TID: 104, Inner: 104, Comm: "r", State: 'R', First: Reading{At: time.Now(), Known: true}}
	d := draw(futexThread(100, heap, private, 2), futexThread(101, heap+0x100, private, 2),
		futexThread(102, heap, private, 2), futexThread(103, heap+0x200, private, 2), runs)
	d.mutex(heap, 2, 101, 0)
	d.mutex(heap+0x100, 2, 100, 0)
	d.mutex(heap+0x200, 2, 104, 0)
	g := d.examine(t)
	if got := kinds(g); !slices.Equal(got, []CycleKind{Deadlock}) {
		t.Errorf("cycles %v, want a deadlock", got)
	}
	if want := map[int]bool{100: true, 101: true, 102: false}; !stdmaps.Equal(d.again, want) {
		t.Errorf("read again %v, want %v", d.again, want)
	}
	if w := g.Of(102); w.Certainty != Proven || g.Of(103).Certainty != Shown {
		t.Errorf("certainties %d and %d, want proven and shown", w.Certainty, g.Of(103).Certainty)
	}
}

// Who was woken and has not run yet is in no deadlock.
func TestWokenIsNoDeadlock(t *testing.T) {
	d := draw(futexThread(100, heap, private, 2), futexThread(101, heap+0x100, private, 2))
	d.mutex(heap, 2, 101, 0)
	d.mutex(heap+0x100, 2, 100, 0)
	d.wakes[101] = true
	if g := d.examine(t); len(g.Cycles) > 0 {
		t.Errorf("cycles %+v, want none", g.Cycles)
	}
}

// TestOwnerElsewhere: who is all of another process is named once, by that; another of its threads with the process.
func TestOwnerElsewhere(t *testing.T) {
	d := draw(futexThread(100, heap, private, 2))
	own := &Thread{TID: 200, Comm: "other"}
	p := &Process{PID: 200, Comm: "other", Threads: []*Thread{own, {TID: 201, Comm: "worker"}}}
	for _, th := range p.Threads {
		th.Process = p
	}
	d.facts.Add(p)
	g := d.examine(t)
	for tid, want := range map[int]string{200: `process 200 "other"`, 201: `201 "worker" of process 200 "other"`} {
		if got := g.who(Waker{PID: 200, TID: tid}, 100); got != want {
			t.Errorf("thread %d is called %s, want %s", tid, got, want)
		}
	}
}

// A runtime's lock goes before what the words show, and its waiters may run now and then.
func TestRuntimeLock(t *testing.T) {
	d := draw(futexThread(100, heap, untimedPriv, 0), futexThread(101, heap+0x100, private, 2))
	d.mutex(heap+0x100, 2, 100, 0)
	d.facts.Process(100).Locks = []Lock{{Name: "the GIL", Futexes: mem.Span[mem.Addr]{Start: heap, End: heap + 48},
		Owner: 101, Retries: true}}
	d.moves[100] = true
	g := d.examine(t)
	if got := g.Words(g.Of(100)); got != `waits for the GIL held by 101 "t101"` {
		t.Errorf("it %q", got)
	}
	if got := kinds(g); !slices.Equal(got, []CycleKind{Supposed}) {
		t.Errorf("cycles %v, want one that is not proven", got)
	}
}

// FuzzStudy: no memory of a process makes it panic, or ask without end.
// TestInstantLocks: a cycle of locks of a runtime is proven if their owners and the calls of their waiters were those
// of one stop.
func TestInstantLocks(t *testing.T) {
	for _, c := range []struct {
		instant bool
		moved   mem.Addr // the stack pointer of a waiter, in the stop
		want    CycleKind
	}{{true, 0, Deadlock}, {true, 8, Supposed}, {false, 0, Supposed}} {
		d := draw(futexThread(100, heap, untimedPriv, 0), futexThread(101, heap+0x100, untimedPriv, 0))
		g := d.examine(t)
		d.facts.Process(100).Locks = []Lock{
			{Name: "monitor 1", Number: 1, Waiters: []int{100}, Owner: 101, Instant: c.instant},
			{Name: "monitor 2", Number: 2, Waiters: []int{101}, Owner: 100, Instant: c.instant}}
		for _, tid := range []int{100, 101} {
			call := g.Facts.Thread(tid).First.Call
			d.facts.ConfirmCall(tid, call.SP+c.moved, call.PC)
		}
		if got := kinds(Join(d.facts)); !slices.Equal(got, []CycleKind{c.want}) {
			t.Errorf("%+v: cycles %v", c, got)
		}
	}
}

func FuzzStudy(f *testing.F) {
	f.Add(uint32(private), uint32(2), uint16(0), []byte{2, 0, 0, 0, 0, 0, 0, 0, 101, 0, 0, 0, 1})
	f.Add(uint32(untimedPriv), uint32(0), uint16(40), []byte("\x00\x00\x01\x00"))
	f.Add(uint32(opLockPI), uint32(0), uint16(8), []byte{101, 0, 0, 0x80})
	f.Fuzz(func(t *testing.T, op, val uint32, at uint16, memory []byte) {
		for _, arch := range []string{"amd64", "386", "arm64"} {
			for _, path := range []string{"/lib/libc.so.6", "/lib/ld-musl-x86_64.so.1", "/bin/static"} {
				d := draw(futexThread(100, heap+mem.Addr(at), op, val), futexThread(101, heap+mem.Addr(at)/2, op, val))
				p := d.facts.Process(100)
				p.Arch = arch
				if arch == "386" {
					p.Word = 4
					for _, th := range p.Threads {
						th.First.Call.Number = 240
					}
				}
				p.Maps.All()[1].Path = path
				for i, b := range memory {
					d.memory[heap+mem.Addr(i)] = b
					d.memory[stack+0x8000+mem.Addr(i)] = b
				}
				d.facts.Thread(100).Stack = []string{"a", SignalFrame, "malloc"}
				g := d.examine(t)
				g.Show()
				if d.reads > maxRounds {
					t.Errorf("%d rounds", d.reads)
				}
			}
		}
	})
}
