package cpython

import (
	"encoding/binary"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/work"
)

// putWords writes words at a, which lies in r.
func putWords(r mem.Range, a mem.Addr, words ...uint64) {
	for i, w := range words {
		binary.LittleEndian.PutUint64(r.Data[int(a-r.Start)+8*i:], w)
	}
}

// countedMemory is memory of a stopped process that counts how often it is read.
type countedMemory struct {
	*mem.Overlay
	reads int
}

func (d *countedMemory) Bytes(addr mem.Addr, n int) ([]byte, bool) {
	d.reads++
	return d.Overlay.Bytes(addr, n)
}

func (d *countedMemory) Err() error { return nil }

func (d *countedMemory) view() *view.View {
	v := view.From(d)
	return &v
}

func (d *countedMemory) ReadPieces(pieces []snapshot.Piece) error {
	for i := range pieces {
		pieces[i].Got, _ = d.ReadMem(pieces[i].Data, pieces[i].Addr)
	}
	return nil
}

// circleOfShims makes the entry frame that drawGreenlets draws its own caller.
func circleOfShims(g *greenlets, s *snapshot.Snapshot) {
	putWords(s.Whole[0], entryMoved+mem.Addr(g.r.layout.Frame.Previous), uint64(entry))
}

// TestShimCircle: entry frames that lead to each other add no frame, and end the walk all the same.
func TestShimCircle(t *testing.T) {
	g, s := drawGreenlets(t)
	circleOfShims(g, s)
	m := &countedMemory{Overlay: mem.NewOverlay(nil, s.Whole...)}
	x := &greenlet{start: entry - 0x100, copied: entryMoved - 0x100, size: 0x200, top: frameObject}
	const most = 10
	frames := 0
	w := frameWalk{x: x, most: most}
	if whole := w.on(g.r.layout, m.view(), func(*object.Frame) { frames++ }); whole || frames != 1 || m.reads > 3*most {
		t.Errorf("whole %v, %d frames, %d reads; want one frame by %d reads at most", whole, frames, m.reads, 3*most)
	}
	fibers, err := g.Fibers(s)
	if p := g.parked.stacks[sleeps]; len(fibers) != 3 || err != nil || len(p.frames) != 1 || p.why != errCut {
		t.Errorf("%d greenlets, %v; %d frames, %v", len(fibers), err, len(p.frames), p.why)
	}
}

// stopCopy runs a ProcessCopier over memory that has all the time there is, and returns what it copied.
func stopCopy(c snapshot.ProcessCopier, m snapshot.PieceReader) []mem.Range {
	g := snapshot.Gatherer{Budget: snapshot.Budget{Bytes: snapshot.GatherBudget.Bytes, Time: time.Hour}}
	g.Run([]snapshot.ProcessCopier{c}, m)
	ranges, _ := g.Copied()
	return ranges
}

// TestShimCircleInStop: so it is while the process is stopped, and what was copied is kept.
func TestShimCircleInStop(t *testing.T) {
	g, s := drawGreenlets(t)
	circleOfShims(g, s)
	g.known = []mem.Addr{mainGreenlet, sleeps, ended, begins}
	g.r.set = module.NewSet(s.Maps, module.Image{})
	s.Whole = stopCopy(g, &countedMemory{Overlay: mem.NewOverlay(nil, s.Whole...)})
	fibers, err := g.Fibers(s)
	if len(fibers) != 3 || err != nil || len(g.parked.stacks[sleeps].frames) != 1 {
		t.Errorf("%d greenlets, %v, %d frames", len(fibers), err, len(g.parked.stacks[sleeps].frames))
	}
}

// TestStepsInStop: what has been fetched is not read for ever, many small pieces or a few large ones; then nothing is
// fetched any more, and no other item is tried.
func TestStepsInStop(t *testing.T) {
	for name, size := range map[string]int{"small": 8, "large": 1 << 20} {
		fetched := 0
		r := newRounds(func(wants []snapshot.Want) (got [][]byte, ok bool) {
			fetched += len(wants)
			for _, w := range wants {
				got = append(got, make([]byte, w.Len))
			}
			return got, true
		})
		reads := 0
		inRounds(r, []mem.Addr{1, 2}, func(mem.Addr) {
			for range 2 * maxSteps {
				if _, ok := r.Bytes(0x100000, size); !ok {
					return
				}
				reads++
			}
		})
		most := maxSteps / stepsOf(size)
		if !r.spent || reads > most || reads < most*9/10 || fetched > 1+size/blockSize {
			t.Errorf("%s: %d reads, want about %d; spent %v, %d blocks fetched", name, reads, most, r.spent, fetched)
		}
		again := 0
		if inRounds(r, []mem.Addr{3}, func(mem.Addr) { again++ }); again > 0 {
			t.Errorf("%s: tried again when all was spent", name)
		}
	}
}

// TestNotedInStop: what is noted to be fetched does not pile up, however many items note how much.
func TestNotedInStop(t *testing.T) {
	most := 0
	r := newRounds(func(wants []snapshot.Want) ([][]byte, bool) {
		most = max(most, len(wants))
		return make([][]byte, len(wants)), true
	})
	items := make([]mem.Addr, 3*maxNoted/64)
	for i := range items {
		items[i] = mem.Addr(i+1) << 20
	}
	inRounds(r, items, func(at mem.Addr) {
		for i := range mem.Addr(64) {
			r.Bytes(at+i*blockSize, 8)
		}
	})
	if most < maxNoted || most > maxNoted+64 {
		t.Errorf("%d blocks were fetched together, want %d", most, maxNoted)
	}
}

// crowd adds n greenlets that wait in a frame which is its own caller.
func crowd(g *greenlets, s *snapshot.Snapshot, n int) {
	const at, size = mem.Addr(0x1000000), 40 + greenletSize
	r := mem.Range{Start: at, Data: make([]byte, n*size)}
	for i := range n {
		x, state := at+mem.Addr(i*size), at+mem.Addr(i*size+40)
		putWords(r, x, 1, greenType, 0, 0, uint64(state))
		putWords(r, state, greenCode, uint64(x))
		putWords(r, state+7*8, entry, entry+0x1000, 0, 0, 0, 0, frameObject)
	}
	s.Whole = append(s.Whole, r)
	putWords(s.Whole[0], frame+mem.Addr(g.r.layout.Frame.Previous), frame)
}

// TestManyGreenlets: all greenlets together have no more frames than may be kept; each has one, and those that have
// fewer than they should say so, as does the list.
func TestManyGreenlets(t *testing.T) {
	const n = maxWaitingFrames/maxParkedFrames + 500
	g, s := drawGreenlets(t)
	crowd(g, s, n)
	fibers, err := g.Fibers(s)
	want := "greenlets that wait: more frames are left out"
	if err == nil || !strings.Contains(err.Error(), want) || len(fibers) != n+3 {
		t.Errorf("%d greenlets, %v", len(fibers), err)
	}
	frames, short := 0, 0
	for id, p := range g.parked.stacks {
		if len(p.frames) == 0 {
			t.Fatalf("greenlet %#x has no frame", id)
		}
		frames += len(p.frames)
		if p.why == errNoRoom {
			short++
		}
	}
	if frames > maxWaitingFrames+n || frames < maxWaitingFrames || short < 400 {
		t.Errorf("%d frames, want %d and one for each; %d say so", frames, maxWaitingFrames, short)
	}
}

// Where drawTasks puts what it draws.
const (
	taskType, futureType, coroType, textType = 0x6000, 0x6100, 0x6200, 0x6300
	taskSet, taskTable                       = 0x2000000, 0x2100000
	coroutine, taskText                      = 0x2001000, 0x2002000
	firstTask, taskSize                      = 0x3000000, 256
)

// drawTasks draws n pending tasks of 3.13 that run a coroutine which awaits itself.
func drawTasks(t testing.TB, g *greenlets, s *snapshot.Snapshot, n int) *Runtime {
	t.Helper()
	r := g.r
	l := r.layout
	layout, err := l.TaskLayout()
	if err != nil {
		t.Fatal(err)
	}
	mask := 1
	for mask < 2*n {
		mask *= 2
	}
	head := mem.Range{Start: taskSet, Data: make([]byte, 0x4000)}
	table := mem.Range{Start: taskTable, Data: make([]byte, 16*mask)}
	tasks := mem.Range{Start: firstTask, Data: make([]byte, n*taskSize)}
	putWords(head, taskSet, 1, 0, uint64(n), uint64(n), uint64(mask-1), taskTable)
	putWords(head, coroutine+8, coroType)
	head.Data[coroutine-taskSet+l.Gen.State] = 0xff // it awaits
	top := coroutine + mem.Addr(l.Gen.Frame+l.Frame.Locals+8)
	putWords(head, coroutine+mem.Addr(l.Gen.Frame+l.Frame.Top), 1)
	putWords(head, top-8, coroutine)
	putWords(head, coroutine+mem.Addr(l.Gen.Frame+l.Frame.Code), codeAt)
	const compactASCII = 1<<2 | 1<<5 | 1<<6
	putWords(head, taskText, 1, textType, object.MaxString, 0, compactASCII)
	copy(head.Data[taskText-taskSet+mem.Addr(l.String.ASCII):], strings.Repeat("x", object.MaxString))
	for i := range n {
		at := mem.Addr(firstTask + i*taskSize)
		putWords(table, taskTable+mem.Addr(16*i), uint64(at), 1)
		putWords(tasks, at, 1, taskType)
		putWords(tasks, at+mem.Addr(layout.Coro), coroutine)
		putWords(tasks, at+mem.Addr(layout.Name), taskText)
	}
	s.Whole = append(s.Whole, head, table, tasks)
	r.asyncio = &asyncio{layout: layout, sets: []mem.Addr{taskSet}, kinds: map[mem.Addr]namedKind{
		taskType: {kindTask, "_asyncio.Task"}, coroType: {kindGenerator, "coroutine"}, textType: {kindText, "str"},
		futureType: {kindFuture, "_asyncio.Future"}}}
	return r
}

// TestManyTasks: tasks share the room for frames with greenlets; each has one, those that have fewer say so, and names
// are cut.
func TestManyTasks(t *testing.T) {
	const n = maxWaitingFrames/maxAwaits + 500
	g, s := drawGreenlets(t)
	r := drawTasks(t, g, s, n)
	fibers, err := r.Fibers(s)
	if err == nil || !strings.Contains(err.Error(), "tasks that wait: more frames are left out") || len(fibers) != n {
		t.Fatalf("%d tasks, %v", len(fibers), err)
	}
	if r.parked.frames > maxWaitingFrames+n || r.parked.frames < maxWaitingFrames || r.parked.short < 400 {
		t.Errorf("%d frames, %d say so", r.parked.frames, r.parked.short)
	}
	for i := range fibers {
		p := r.parked.stacks[fibers[i].ID]
		if len(p.frames) == 0 || p.why == nil || fibers[i].Name != strings.Repeat("x", maxTaskName)+"…" {
			t.Fatalf("task %q: %d frames, %v", fibers[i].Name, len(p.frames), p.why)
		}
	}
	if _, err := g.Fibers(s); err == nil || g.parked.frames > 10 {
		t.Errorf("%d frames of greenlets, %v; there was no room for more", g.parked.frames, err)
	}
}

// TestAwaitedName: of a task that is waited for the name is read, not what it waits in.
func TestAwaitedName(t *testing.T) {
	g, s := drawGreenlets(t)
	r := drawTasks(t, g, s, 1)
	m := &countedMemory{Overlay: mem.NewOverlay(nil, s.Whole...)}
	if name := r.nameOf(r.asyncio, m.view(), firstTask); len(name) < maxTaskName || m.reads > 10 {
		t.Errorf("name %q by %d reads", name, m.reads)
	}
}

// TestManyEdges: who waits for whom is kept for so many, and it is said that there are more.
func TestManyEdges(t *testing.T) {
	g, _ := drawGreenlets(t)
	l := taskList{r: g.r, m: g.r.running(), live: g.r.running(), edges: maxEdges - 1}
	var task taskRead
	if l.awaited(&task, 1); l.missing(0, 1) != nil {
		t.Error("nothing is missing yet")
	}
	l.awaited(&task, 2)
	if err := l.missing(0, 1); len(task.awaitedBy) != 1 || err == nil {
		t.Errorf("%d are kept, %v", len(task.awaitedBy), err)
	}
}

// TestManyChains: of a thread no more chains are read than are copied of one.
func TestManyChains(t *testing.T) {
	g, _ := drawGreenlets(t)
	l := g.r.layout
	th := &snapshot.Thread{TP: 0x777, HasTP: true}
	for i := range mem.Addr(100) {
		state := mem.Range{Start: 0x10000 + i<<12, Data: make([]byte, l.Thread.Size)}
		putWords(state, state.Start+mem.Addr(l.Thread.ThreadID), 0x777)
		putWords(state, state.Start+mem.Addr(l.Thread.Frame), frame)
		th.Copied = append(th.Copied, state)
	}
	frames := mem.Range{Start: frame, Data: make([]byte, l.Frame.Size)}
	putWords(frames, frame+mem.Addr(l.Frame.Previous), frame)
	th.Copied = append(th.Copied, frames)
	if all, _ := g.r.chainsOf(th, g.r.stopped(th, nil)); len(all) != 1+maxStates || !all[0].cut {
		t.Errorf("%d chains, want %d", len(all), 1+maxStates)
	}
}

// TestHeldBytes: names and line tables that are kept are bounded by what they hold, however few they are, and count
// against the run.
func TestHeldBytes(t *testing.T) {
	budget := work.New(1<<40, 1<<40)
	c := newCodes(budget)
	for i := range 3 * maxCodeBytes >> 20 {
		c.add(&code{codeKey: codeKey{addr: mem.Addr(i)}, table: make([]byte, 1<<20)})
		if n := c.known.Len(); n > maxCodeBytes>>20 {
			t.Fatalf("%d code objects", n)
		}
	}
	if _, left := budget.Left(); left < 1<<40-maxCodeBytes || left > 1<<40-maxCodeBytes/3 {
		t.Errorf("%d bytes are taken from the run", 1<<40-left)
	}
	r := newRuntime(&object.Layout{}, module.Image{})
	long := strings.Repeat("x", 1<<20)
	first, _ := r.siteFor(spot{function: long, line: -1})
	for i := range 2 * maxSiteBytes >> 20 {
		n, note := r.siteFor(spot{function: long, line: i})
		if f := r.Frames(n); note != "" || len(f) != 1 || f[0].Line != i {
			t.Fatalf("Site %d of line %d: %v, %q", n, i, f, note)
		}
	}
	if f := r.Frames(first); f != nil {
		t.Errorf("what was not met for long is %v still", f)
	}
}

// TestLineSteps: where line tables take too long a frame says that its line is not known.
func TestLineSteps(t *testing.T) {
	g, _ := drawGreenlets(t)
	const short = 1<<7 | 10<<3 // one unit of code, in the next line
	c := &code{table: []byte{short, 0, 0, short + 1<<3, 0, 0}}
	c.firstLine, c.function, c.size = 7, "f", 8
	m := g.r.running()
	line := func(offset uint64) (int, string) {
		f := &object.Frame{Code: 0x1000, Instr: 0x1000 + uint64(g.r.layout.Code.Bytecode) + offset}
		n, note := g.r.siteOf(c, m, f)
		return g.r.Frames(n)[0].Line, note
	}
	m.Within(8)
	if n, note := line(2); n != 8 || note != "" {
		t.Errorf("line %d, %q", n, note)
	}
	if n, note := line(0); n != 0 || note == "" {
		t.Errorf("line %d, %q; want that it is not known", n, note)
	}
	m = g.r.running()
	if n, note := line(0); n != 7 || note != "" {
		t.Errorf("line %d, %q", n, note)
	}
	if n, note := line(1 << 20); n != 0 || note == "" {
		t.Errorf("behind its instructions it is in line %d, %q; want that it is not known", n, note)
	}
}

// TestLocalsBound: when the local variables of a dump are too many the rest says so, and the next dump begins again.
func TestLocalsBound(t *testing.T) {
	g, s := drawGreenlets(t)
	stack := &unwind.Stack{Frames: []unwind.Frame{{Runtime: g.r, Kept: frame}}}
	whole := mem.NewOverlay(nil, s.Whole...)
	first := fmt.Sprint(g.r.Locals(whole, stack))
	g.r.locals.bytes = 0
	const left = "left out"
	if cut := fmt.Sprint(g.r.Locals(whole, stack)); !strings.Contains(cut, left) || strings.Contains(first, left) {
		t.Errorf("first %q, then %q", first, cut)
	}
	if next := fmt.Sprint(g.r.Locals(mem.NewOverlay(nil, s.Whole...), stack)); next != first {
		t.Errorf("the next dump has %q, want %q", next, first)
	}
}

// FuzzTasks: whatever the memory of tasks holds, the list ends, in the stop too.
func FuzzTasks(f *testing.F) {
	const states = coroutine - taskSet
	f.Add(uint64(0), []byte{})
	f.Add(uint64(states), []byte{0xff, 0, 0xff})
	f.Add(uint64(0x4000+8), []byte{0, 0x10, 0, 2, 0, 0, 0, 0})
	f.Fuzz(func(t *testing.T, offset uint64, change []byte) {
		const n = 4
		g, s := drawGreenlets(t)
		r := drawTasks(t, g, s, n)
		at := offset % 0x5000
		for _, m := range s.Whole[1:] {
			if at < uint64(len(m.Data)) {
				copy(m.Data[at:], change)
				break
			}
			at -= uint64(len(m.Data))
		}
		s.Whole = stopCopy(r, &countedMemory{Overlay: mem.NewOverlay(nil, s.Whole...)})
		if fibers, _ := r.Fibers(s); len(fibers) > n+len(change) {
			t.Errorf("%d tasks of %d", len(fibers), n)
		}
	})
}
