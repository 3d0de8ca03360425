package wasmtime

import (
	"debug/elf"
	"encoding/binary"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind"
)

// identifyAt returns a frame at pc with what the runtime says of it.
func identifyAt(r *Runtime, pc mem.Addr) unwind.Frame {
	s := unwind.Stack{Frames: []unwind.Frame{{PC: pc, Interrupted: true}}}
	r.Identify(&snapshot.Thread{}, &s, nil)
	return s.Frames[0]
}

const (
	heapAt  = 0x10000
	coreAt  = heapAt + 0x100 // a vmctx
	storeAt = heapAt + 0x400

	alpha = uint64(textAt) + 0x10        // return addresses into functions of [plain]
	step  = uint64(textAt) + 0x50 + 0x20 //
	entry = uint64(textAt) + 0x90 + 0x10 // into the glue by which the host entered
	exit  = uint64(textAt) + 0xb0 + 0x10 // into that by which it was called
	host  = 0x400123
)

// stage is a thread whose stack is drawn, in a process with the image [plain].
type stage struct {
	r      *Runtime
	thread *snapshot.Thread
	memory *pieces
	heap   []byte
	store  []byte
}

// machine is one that a stage may be of; signature is in the return addresses on its stacks.
type machine struct {
	elf       elf.Machine
	arch      *regs.Arch
	signature uint64
}

var (
	hostAMD64 = machine{elf: elf.EM_X86_64, arch: regs.AMD64}
	hostARM64 = machine{elf.EM_AARCH64, regs.ARM64, 0x7f << 48}
)

// newStage draws a stack word by word; labels of stack are addresses in it.
func newStage(t testing.TB, stack func(s *memory.Image)) (*stage, *memory.Image) {
	t.Helper()
	return hostAMD64.stage(t, stack)
}

func (m *machine) stage(t testing.TB, stack func(s *memory.Image)) (*stage, *memory.Image) {
	t.Helper()
	image := plain
	image.machine = m.elf
	b := image.draw()
	r, present, err := scan(t, b, 0x1000)
	if !present {
		t.Fatal(err)
	}
	s := memory.NewImage(stackAt+0x100, 8, binary.LittleEndian)
	stack(s)
	for range 64 {
		s.Word(0)
	}
	drawn := s.Range()
	for i := 0; i+8 <= len(drawn.Data); i += 8 {
		if w := drawn.Data[i:]; mem.Addr(order.Uint64(w))&^0xfff == textAt {
			order.PutUint64(w, order.Uint64(w)|m.signature)
		}
	}
	reg := regs.New(m.arch)
	reg.Set(m.arch.SP, uint64(drawn.Start))
	reg.Set(m.arch.PC, host)
	heap := make([]byte, 0x10000)
	copy(heap[coreAt-heapAt:], coreMagic)
	binary.LittleEndian.PutUint64(heap[coreAt-heapAt+8:], storeAt)
	return &stage{r: r, heap: heap, store: heap[storeAt-heapAt:],
		thread: &snapshot.Thread{Arch: m.arch, PACMask: m.signature, Registers: &reg, Stack: drawn},
		memory: &pieces{Reader: mem.NewOverlay(nil, mem.Range{Start: heapAt, Data: heap},
			mem.Range{Start: imageBase, Data: b}, drawn)}}, s
}

// put writes words to the context of the store.
func (g *stage) put(at int, words ...uint64) {
	for i, w := range words {
		binary.LittleEndian.PutUint64(g.store[at+8*i:], w)
	}
}

// waypoints are those that the runtime finds, as "pc at sp", by what was copied alone.
func (g *stage) waypoints() string {
	var f snapshot.Fetcher
	f.Run([]snapshot.Copier{g.r}, g.thread, g.memory)
	var out []string
	frames := []unwind.Frame{{SP: g.thread.Stack.Start}}
	for _, p := range g.r.Waypoints(g.thread, frames, (&snapshot.Snapshot{}).Reader(g.thread, nil)) {
		pc, _ := p.Registers.PC()
		sp, _ := p.Registers.SP()
		fp, _ := p.Registers.FP()
		out = append(out, fmt.Sprintf("%#x at +%#x fp +%#x", uint64(pc-textAt), uint64(sp-stackAt), uint64(fp-stackAt)))
	}
	return strings.Join(out, ", ")
}

// activation draws host < glue < alpha < step < glue < host, named by n.
func activation(s *memory.Image, n string) {
	s.Skip(3).Word(coreAt).Word(host)
	s.Label("glue" + n).Ref("alpha" + n).Word(alpha).Word(coreAt)
	s.Label("alpha" + n).Ref("step" + n).Word(step)
	s.Label("step" + n).Ref("entry" + n).Word(entry)
	s.Label("entry" + n).Word(0x1234).Word(host + 8).Skip(4)
}

// TestWaypoints: where the stack passes to the host, in the forms of the versions; nothing where that is not proved.
func TestWaypoints(t *testing.T) {
	const first = "0x10 at +0x138 fp +0x140"
	for _, tc := range []struct {
		name  string
		stack func(s *memory.Image)
		store func(g *stage, at func(string) uint64)
		want  string
	}{
		{"v40: frame pointer of the glue", func(s *memory.Image) { activation(s, "") },
			func(g *stage, at func(string) uint64) {
				g.put(0x28, at("glue"), alpha, at("entry"), at("entry")+16, entry)
			},
			first},
		{"v22: frame pointer of the function", func(s *memory.Image) { activation(s, "") },
			func(g *stage, at func(string) uint64) { g.put(0x18, at("alpha"), alpha, at("entry")) }, first},
		{"idle", func(s *memory.Image) { activation(s, "") },
			func(g *stage, at func(string) uint64) { g.put(0, ^uint64(0)) }, ""},
		{"a frame pointer that does not fit", func(s *memory.Image) { activation(s, "") },
			func(g *stage, at func(string) uint64) { g.put(0x28, at("step"), alpha) }, ""},
		{"a return address that does not fit", func(s *memory.Image) { activation(s, "") },
			func(g *stage, at func(string) uint64) { g.put(0x28, at("glue"), step) }, ""},
		{"the handler of an entry", func(s *memory.Image) { activation(s, "") },
			func(g *stage, at func(string) uint64) { g.put(0x28, at("step"), entry) }, ""},
		{"a chain that goes round", func(s *memory.Image) {
			s.Skip(3).Word(coreAt).Word(host)
			s.Label("glue").Ref("alpha").Word(alpha).Word(coreAt).Label("alpha").Ref("glue").Word(step)
		}, func(g *stage, at func(string) uint64) { g.put(0x28, at("glue"), alpha) }, ""},
		{"a chain that ends in the middle", func(s *memory.Image) {
			s.Skip(3).Word(coreAt).Word(host)
			s.Label("glue").Ref("alpha").Word(alpha).Word(coreAt).Label("alpha").Ref("step").Word(host).Label("step")
		}, func(g *stage, at func(string) uint64) { g.put(0x28, at("glue"), alpha) }, ""},
		{"dead frames above", func(s *memory.Image) { activation(s, ""); activation(s, "2") },
			func(g *stage, at func(string) uint64) { g.put(0x28, at("glue"), alpha) }, first},
		{"entered again", func(s *memory.Image) {
			activation(s, "")
			s.Word(alpha) // what the host saved
			activation(s, "2")
		}, func(g *stage, at func(string) uint64) { g.put(0x28, at("glue"), alpha) },
			first + ", 0x10 at +0x1d0 fp +0x1d8"},
	} {
		for _, m := range []machine{hostAMD64, hostARM64} {
			g, s := m.stage(t, tc.stack)
			tc.store(g, func(label string) uint64 { return uint64(s.Addr(label)) })
			if got := g.waypoints(); got != tc.want {
				t.Errorf("%s, %s: got %q, want %q", m.arch.Name, tc.name, got, tc.want)
			}
		}
	}
}

// TestForgedStores: whatever the words of the process are, the search ends soon and panics not.
func TestForgedStores(t *testing.T) {
	for seed := range uint64(500) {
		g, _ := newStage(t, func(s *memory.Image) {
			x := seed*2654435761 + 12345
			for range 400 {
				x ^= x << 13
				x ^= x >> 7
				x ^= x << 17
				somewhere := uint64(stackAt) + 0x100 + x>>20%0xc80&^7
				s.Word([]uint64{coreAt, alpha, step, entry, exit, somewhere, host, x}[x%8])
			}
		})
		for i := 0; i < storeSize; i += 16 {
			g.put(i, uint64(stackAt)+0x100+seed*8, alpha)
		}
		for _, p := range strings.Split(g.waypoints(), ", ") {
			if p != "" && !strings.HasPrefix(p, "0x10 ") && !strings.HasPrefix(p, "0x70 ") {
				t.Errorf("seed %d: %q is no function of WebAssembly", seed, p)
			}
		}
	}
}

// TestCopy bounds what Copy takes of a thread by calls, and holds that it allocates nothing once warm.
func TestCopy(t *testing.T) {
	g, s := newStage(t, func(s *memory.Image) { activation(s, "") })
	g.put(0x28, uint64(s.Addr("glue")), alpha)
	var f snapshot.Fetcher
	copiers := []snapshot.Copier{g.r}
	run := func() { f.Run(copiers, g.thread, g.memory) }
	run()
	names := func() bool {
		return slices.ContainsFunc(g.thread.Copied, func(r mem.Range) bool { return r.Start == imageBase })
	}
	if g.memory.calls != 3 || !names() || len(g.thread.Shortfalls) > 0 {
		t.Errorf("%d calls, copied %v, %v; want 3 with the header", g.memory.calls, g.thread.Copied,
			g.thread.Shortfalls)
	}
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
	g.thread.Stack.Data = make([]byte, 512)
	g.memory.calls = 0
	if run(); g.memory.calls != 0 {
		t.Errorf("%d calls for a stack without WebAssembly, want none", g.memory.calls)
	}
}

// TestNamesAreOfTheStop: what was copied decides, also against what was read before.
func TestNamesAreOfTheStop(t *testing.T) {
	for _, tc := range []struct {
		name   string
		change func(b []byte) // of the process, before the stop
		want   string
		note   string
		stale  bool
	}{
		{"the same", func([]byte) {}, "alpha", "", false},
		{"another name", func(b []byte) { copy(b[strings.Index(string(b), "alpha"):], "omega") }, "omega", noteName,
			true},
		{"a longer name", func(b []byte) { copy(b[strings.Index(string(b), "alpha"):], "omegaomega") }, "", noteOther,
			true},
		{"a shorter name", func(b []byte) { copy(b[strings.Index(string(b), "alpha"):], "om\x00ga") }, "om", noteName,
			true},
		{"another header", func(b []byte) { b[24] = 1 }, "", noteOther, true},
		{"another function", func(b []byte) {
			table := binary.LittleEndian.Uint64(b[40:])
			symbols := binary.LittleEndian.Uint64(b[table+2*sectionSize+24:])
			b[symbols+symbolSize+16]++
		}, "", noteOther, true},
	} {
		g, _ := newStage(t, func(s *memory.Image) { activation(s, "") })
		b := plain.draw()
		tc.change(b)
		g.memory.Reader = mem.NewOverlay(g.memory.Reader, mem.Range{Start: imageBase, Data: b})
		var f snapshot.Fetcher
		f.Run([]snapshot.Copier{g.r}, g.thread, g.memory)
		s := unwind.Stack{Frames: []unwind.Frame{{PC: mem.Addr(alpha)}}}
		g.r.Identify(g.thread, &s, (&snapshot.Snapshot{}).Reader(g.thread, nil))
		got, name := s.Frames[0], ""
		if fs := g.r.Frames(got.Site); len(fs) > 0 {
			name = fs[0].Func
		}
		if im := g.r.known.Load().images[0]; name != tc.want || got.Note != tc.note || im.stale != tc.stale {
			t.Errorf("%s: %q, note %q, stale %v; want %q, %q, %v", tc.name, name, got.Note, im.stale, tc.want,
				tc.note, tc.stale)
		}
	}
}

// BenchmarkCopy is what Copy adds to a stop, without the reads themselves.
func BenchmarkCopy(b *testing.B) {
	g, s := newStage(b, func(s *memory.Image) { activation(s, "") })
	g.put(0x28, uint64(s.Addr("glue")), alpha)
	var f snapshot.Fetcher
	copiers := []snapshot.Copier{g.r}
	for b.Loop() {
		f.Run(copiers, g.thread, g.memory)
	}
}
