package cpython

import (
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/work"
)

// TestOwnInstructions: a thread of a free-threaded interpreter that executes a copy of the instructions has the lines
// of that, and where the copy is not known a frame says so.
func TestOwnInstructions(t *testing.T) {
	const state, frame, object, table, file, name = 0x10000, 0x10200, 0x10400, 0x10600, 0x10800, 0x10a00
	const copies, instructions, stackAt = 0x10c00, 0x10e00, 0x70000
	for _, s := range samples(t) {
		if s.name != "3.14" {
			continue
		}
		l := *s.runtime.layout
		l.Frame.TLBC, l.Code.TLBC, l.Frame.Size, l.Code.Size = 76, 192, 80, 200
		m := mem.Range{Start: state, Data: make([]byte, 0x1000)}
		text := func(at mem.Addr, s string) {
			const compactASCII = 1<<2 | 1<<5 | 1<<6
			putWords(m, at, 1, 0, uint64(len(s)), 0, compactASCII)
			copy(m.Data[at-state+mem.Addr(l.String.ASCII):], s)
		}
		putWords(m, state+mem.Addr(l.Thread.ThreadID), 0x777)
		putWords(m, state+mem.Addr(l.Thread.Frame), frame)
		putWords(m, frame+mem.Addr(l.Frame.Code), object)
		putWords(m, frame+mem.Addr(l.Frame.Instr), instructions+2)
		m.Data[frame-state+mem.Addr(l.Frame.TLBC)] = 1
		putWords(m, object+mem.Addr(l.Header), 4)
		putWords(m, object+mem.Addr(l.Code.Filename), file)
		putWords(m, object+mem.Addr(l.Code.Qualname), name)
		putWords(m, object+mem.Addr(l.Code.Lines), table)
		m.Data[object-state+mem.Addr(l.Code.FirstLine)] = 7
		putWords(m, object+mem.Addr(l.Code.TLBC), copies)
		putWords(m, copies, 2, object+uint64(l.Code.Bytecode), instructions)
		const oneLine = 1<<7 | 11<<3 // one unit of code, in the next line
		putWords(m, table, 1, 0, 6)
		copy(m.Data[table-state+mem.Addr(l.BytesHead()):], []byte{oneLine, 0, 0, oneLine, 0, 0})
		text(file, "/srv/app.py")
		text(name, "spin")
		r := bareRuntime(&l)
		r.roster.Store(&roster{interps: []interpreter{{}},
			known: newThreads([]threadState{{at: state, ident: 0x777}})})
		shown := func(cut bool) (pythonName, string) {
			sp := regs.New(regs.AMD64)
			sp.Set(regs.AMD64.SP, stackAt)
			th := &snapshot.Thread{Arch: regs.AMD64, TP: 0x777, HasTP: true, Registers: &sp}
			var f snapshot.Fetcher
			memory := pieces{[]mem.Range{m}}
			f.Run([]snapshot.Copier{r}, th, &memory)
			if cut {
				for i := range th.Copied {
					if th.Copied[i].Start == copies+16 {
						th.Copied[i] = mem.Range{}
					}
				}
			}
			stack := unwind.Stack{Frames: []unwind.Frame{{PC: 1, SP: stackAt, CFA: stackAt + 8}}}
			r.Identify(th, &stack, nil)
			frames, names := shownFrames(r, &stack)
			if len(frames) != 1 {
				t.Fatalf("%d frames, %v", len(frames), th.Shortfalls)
			}
			return names[0], frames[0].Note
		}
		if got, note := shown(false); got != (pythonName{"spin", "/srv/app.py", 9}) {
			t.Errorf("%v, %q; want line 9", got, note)
		}
		if got, note := shown(true); got != (pythonName{"spin", "/srv/app.py", 0}) || note == "" {
			t.Errorf("%v, %q; want that the line is not known", got, note)
		}
	}
}

// TestLibraryFile: a wait is told by functions of the standard library alone, not by those of a file of that name.
func TestLibraryFile(t *testing.T) {
	for file, want := range map[string]string{"/usr/lib/python3.11/threading.py": threadingFile,
		"<frozen threading>": threadingFile, "/src/cpython/Lib/threading.py": threadingFile,
		"/srv/app/threading.py": "", "/srv/mythreading.py": "",
		"/usr/lib/python3.11/site-packages/x/threading.py": "", "threading.py": "",
		"/usr/lib/python3.14/concurrent/futures/_base.py": "concurrent/futures/_base.py", "/srv/futures/_base.py": "",
		"<frozen queue>": "queue.py"} {
		if got := libraryFile(file); got != want {
			t.Errorf("%q: %q, want %q", file, got, want)
		}
	}
}

// TestKinds: what functions of the interpreter do by their names.
func TestKinds(t *testing.T) {
	for name, want := range map[string]kind{"_PyEval_EvalFrameDefault.cold": evalLoop, "_TAIL_CALL_BINARY_OP": evalLoop,
		"_PyJIT_Entry": jitEntry, "PyEval_EvalCode": plumbing, "list_sort": other, "main": nameless} {
		if got := kindOf(name); got != want {
			t.Errorf("%s: %d, want %d", name, got, want)
		}
	}
}

// drawnList is the memory of an interpreter whose threads have states of listed bytes from firstListed on.
type drawnList struct {
	pieces
	l *object.Layout
}

const firstListed, listed = 0x100000, 0x400

// drawList draws the memory of r, with room for n states, and an interpreter that has none.
func drawList(r *Runtime, n int) *drawnList {
	const interp, runtime = 0x80000, 0x90000
	d := &drawnList{l: r.layout, pieces: pieces{[]mem.Range{{Start: firstListed, Data: make([]byte, (n+1)*listed)},
		{Start: interp, Data: make([]byte, 0x4000)}, {Start: runtime, Data: make([]byte, 0x1000)}}}}
	r.at = runtime
	putWords(d.ranges[2], runtime+mem.Addr(d.l.Runtime.Interpreters), interp)
	return d
}

// state draws state number i of a thread with that pthread_self and with frames, with state number next behind it, -1
// for none.
func (d *drawnList) state(i int, ident uint64, next int) {
	at, behind := mem.Addr(firstListed+i*listed), uint64(0)
	if next >= 0 {
		behind = uint64(firstListed + next*listed)
	}
	putWords(d.ranges[0], at+mem.Addr(d.l.Thread.Next), behind)
	putWords(d.ranges[0], at+mem.Addr(d.l.Thread.Interp), uint64(d.ranges[1].Start))
	putWords(d.ranges[0], at+mem.Addr(d.l.Thread.ThreadID), ident)
	for _, frames := range []int{d.l.Thread.Frame, d.l.Thread.CFrame} {
		if frames != 0 {
			putWords(d.ranges[0], at+mem.Addr(frames), frame)
		}
	}
}

// head makes state number i the first of the list.
func (d *drawnList) head(i int) {
	putWords(d.ranges[1], d.ranges[1].Start+mem.Addr(d.l.Interp.Threads), uint64(firstListed+i*listed))
}

// TestStateOfAnEndedThread: where the state of a thread that has ended lies in memory still, and a new thread has its
// stack, the state is the new one's, also if that lies where the head of the list did.
func TestStateOfAnEndedThread(t *testing.T) {
	for _, s := range samples(t) {
		r := bareRuntime(s.runtime.layout)
		d := drawList(r, 2)
		const reused, other = 0x7000000, 0x7100000
		d.state(0, reused, -1)
		d.state(1, other, 0)
		d.head(1)
		r.roster.Store(r.readRoster(r.reading(mem.NewOverlay(nil, d.ranges...), nil, maxCopiedSteps)))
		d.state(1, reused, -1)
		th := &snapshot.Thread{Arch: regs.AMD64, TP: reused, HasTP: true}
		var f snapshot.Fetcher
		f.Run([]snapshot.Copier{r}, th, d)
		if at := r.roster.Load().of(th); at != firstListed+listed {
			t.Errorf("%s: its state is at %#x, want %#x", s.name, uint64(at), firstListed+listed)
		}
	}
}

// TestManyThreadsInList: of a list of threads so many are read in a stop, the rest by the next, and the Runtime knows
// meanwhile that some may be missing.
func TestManyThreadsInList(t *testing.T) {
	const n = 600
	g, _ := drawGreenlets(t)
	r := g.r
	d := drawList(r, n)
	d.head(0)
	for i := range n {
		next := i + 1
		if next == n {
			next = -1
		}
		d.state(i, uint64(0x7000000+i), next)
	}
	found := 0
	for i := range n {
		th := &snapshot.Thread{Arch: regs.AMD64, TP: mem.Addr(0x7000000 + i), HasTP: true}
		f := snapshot.Fetcher{Used: func() time.Duration { return 0 }} // on a busy machine, too
		f.Run([]snapshot.Copier{r}, th, d)
		if len(th.Shortfalls) > 0 {
			t.Fatalf("thread %d: %v", i, th.Shortfalls)
		}
		if o := r.roster.Load(); o.of(th) == mem.Addr(firstListed+i*listed) {
			found++
		} else if !o.partial {
			t.Errorf("thread %d is not known, and that some are not is not known", i)
		}
	}
	if found < n-maxFresh {
		t.Errorf("%d of %d threads are known", found, n)
	}
}

// TestHostileOwners: who holds what is found by reading the stacks of all threads once, however many locks there are
// and wherever their frames lead.
func TestHostileOwners(t *testing.T) {
	g, s := drawGreenlets(t)
	l := g.r.layout
	budget := work.New(1<<40, 1<<40)
	r := newRuntime(l, module.Image{Budget: budget})
	o := &roster{known: newThreads(nil)}
	for i := range mem.Addr(maxInterpreters) {
		o.interps = append(o.interps, interpreter{addr: 0x80000 + i<<16, gil: 0x400000 + i<<12, id: int64(i)})
	}
	r.roster.Store(o)
	circle := mem.Range{Start: frame, Data: make([]byte, l.Frame.Size)}
	putWords(circle, frame+mem.Addr(l.Frame.Previous), frame)
	for n := range 200 {
		th := snapshot.Thread{TID: n + 1, Arch: regs.AMD64, TP: 0x777, HasTP: true, Copied: []mem.Range{circle}}
		for i := range mem.Addr(1 + maxStates) {
			state := mem.Range{Start: 0x10000000 + mem.Addr(n)<<20 + i<<12, Data: make([]byte, l.Thread.Size)}
			putWords(state, state.Start+mem.Addr(l.Thread.ThreadID), 0x777)
			putWords(state, state.Start+mem.Addr(l.Thread.Frame), frame)
			th.Copied = append(th.Copied, state)
		}
		for _, in := range o.interps {
			held := mem.Range{Start: r.holderAt(in.gil), Data: make([]byte, gilSize)}
			putWords(held, held.Start, 0x123456, 1)
			th.Copied = append(th.Copied, held)
		}
		s.Threads = append(s.Threads, th)
	}
	before, _ := budget.Left()
	r.ThreadFacts(s)
	_ = r.Locks(s, nil)
	if after, _ := budget.Left(); before-after > 4*maxCopiedSteps {
		t.Errorf("%d steps were taken", before-after)
	}
}
