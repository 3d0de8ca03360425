package unwind_test

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"encoding/binary"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// recorded is where snapshots of programs on other architectures lie; its README tells how
// they were made.
const recorded = "../testdata/snapshots"

// replayed is a recorded snapshot with the one program that it shows.
type replayed struct {
	*snapshot.Snapshot
	file    []byte // of the program
	program *elf.File
	symbols []elf.Symbol // functions, by address
	set     *module.Set
}

// replay reads the snapshot folder/name and the program that ran.
func replay(t *testing.T, folder, name string) *replayed {
	t.Helper()
	folder = filepath.Join(recorded, folder)
	s := read(t, filepath.Join(folder, name+".snapshot"))
	r := &replayed{Snapshot: s}
	file := gunzip(t, filepath.Join(folder, path.Base(s.Process.Exe)+".elf.gz"))
	r.file = file
	var err error
	if r.program, err = elf.NewFile(bytes.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	all, err := r.program.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, y := range all {
		if elf.ST_TYPE(y.Info) == elf.STT_FUNC {
			r.symbols = append(r.symbols, y)
		}
	}
	slices.SortStableFunc(r.symbols, func(a, b elf.Symbol) int { return int(int64(a.Value - b.Value)) })
	open := func(m *maps.Mapping) (*module.File, error) {
		if m.Path != s.Process.Exe {
			return nil, fmt.Errorf("open %q: not part of the recording", m.Path)
		}
		return &module.File{Data: file, Path: m.Path}, nil
	}
	r.set = module.NewSet(s.Maps, module.Image{Mapping: open, Memory: s.Reader(nil, nil)})
	return r
}

// read reads the snapshot in a file.
func read(t *testing.T, file string) *snapshot.Snapshot {
	t.Helper()
	f, err := os.Open(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := snapshot.NewReader(f, nil).Read()
	if err != nil {
		t.Fatal(err)
	}
	return s
}

func gunzip(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// function returns the symbol that holds v. These programs are linked to fixed addresses.
func (r *replayed) function(v uint64) (elf.Symbol, bool) {
	i, found := slices.BinarySearchFunc(r.symbols, v, func(y elf.Symbol, v uint64) int {
		switch {
		case v < y.Value:
			return 1
		case v >= y.Value+y.Size:
			return -1
		}
		return 0
	})
	if !found {
		return elf.Symbol{}, false
	}
	return r.symbols[i], true
}

// Bounds implements unwind.Functions by the symbols that debug/elf reads.
func (r *replayed) Bounds(m *module.Module, v module.Vaddr) (start, end module.Vaddr, ok bool) {
	y, ok := r.function(uint64(v))
	if m.VDSO || !ok {
		return 0, 0, false
	}
	return module.Vaddr(y.Value), module.Vaddr(y.Value + y.Size), true
}

// DebugFrame implements unwind.Functions.
func (r *replayed) DebugFrame(m *module.Module) ([]byte, error) {
	s, _ := m.Section(".debug_frame")
	if s.Compressed {
		return nil, fmt.Errorf("%s is compressed", s.Name)
	}
	return s.Data, nil
}

// name is the function of a frame, "signal" for a trampoline, "vdso" and "?" where there is none.
func (r *replayed) name(f *unwind.Frame) string {
	switch {
	case f.Signal:
		return "signal"
	case f.Module != nil && f.Module.VDSO:
		return "vdso"
	}
	y, ok := r.function(uint64(f.LookupPC()))
	if !ok {
		return "?"
	}
	return y.Name
}

// show prints a stack as "name(origin) … stop"; an interrupted frame other than the innermost
// has a "!".
func (r *replayed) show(s unwind.Stack) string {
	var b strings.Builder
	for i := range s.Frames {
		f := &s.Frames[i]
		mark := ""
		if i > 0 && f.Interrupted {
			mark = "!"
		}
		fmt.Fprintf(&b, "%s%s(%v) ", r.name(f), mark, f.Origin)
	}
	return b.String() + s.Stop.String()
}

func (r *replayed) walk(t *snapshot.Thread) unwind.Stack {
	return unwind.NewWalker(r.set, r).Walk(t, r.Reader(t, nil), unwind.Options{})
}

// instruction reads one instruction of the program; 0, which is none, outside of .text.
func (r *replayed) instruction(v uint64) uint32 {
	text := r.program.Section(".text")
	b := make([]byte, 4)
	if _, err := text.ReadAt(b, int64(v-text.Addr)); err != nil {
		return 0
	}
	return binary.LittleEndian.Uint32(b)
}

// branch decodes "bl" (link) or "b" at v: opcode in the upper 6 bits, below it the distance in
// instructions. Source: Arm Architecture Reference Manual, C6.2.
func (r *replayed) branch(v uint64, link bool) (target uint64, ok bool) {
	word := r.instruction(v)
	opcode := uint32(0b000101)
	if link {
		opcode = 0b100101
	}
	return v + uint64(int64(int32(word<<6)>>6)*4), word>>26 == opcode
}

// calls reports whether the instruction at v calls the function that begins at callee: directly,
// by one that jumps there, or through a register, where the target is unknown.
func (r *replayed) calls(v, callee uint64) bool {
	const blr, register = 0xd63f0000, 31 << 5
	if r.instruction(v)&^register == blr {
		return true
	}
	target, ok := r.branch(v, true)
	if !ok || target == callee {
		return ok
	}
	y, _ := r.function(target)
	for at := y.Value; at < y.Value+y.Size; at += 4 {
		if to, ok := r.branch(at, false); ok && to == callee {
			return true
		}
	}
	return false
}

// checkCalls proves return addresses by the program's own instructions: a call of the function
// of the frame below must end there.
func (r *replayed) checkCalls(t *testing.T, s unwind.Stack) {
	t.Helper()
	for i := 1; i < len(s.Frames); i++ {
		f, below := &s.Frames[i], &s.Frames[i-1]
		// The frames behind a signal were not called; goexit is put under a goroutine's first
		// function by newproc.
		if f.Interrupted || f.Signal || below.Signal || r.name(f) == "runtime.goexit.abi0" {
			continue
		}
		callee, _ := r.function(uint64(below.LookupPC()))
		if !r.calls(uint64(f.PC)-4, callee.Value) {
			t.Errorf("frame %d: no call of %s at %#x ends at %#x", i, callee.Name, callee.Value, uint64(f.PC))
		}
	}
}

// checkTrapped proves the interrupted frame of signal.c: its instruction has a symbol.
func (r *replayed) checkTrapped(t *testing.T, s unwind.Stack) {
	t.Helper()
	all, err := r.program.Symbols()
	if err != nil {
		t.Fatal(err)
	}
	for _, y := range all {
		if y.Name != "trapped" {
			continue
		}
		if !slices.ContainsFunc(s.Frames, func(f unwind.Frame) bool {
			return f.Interrupted &&
				f.PC == mem.Addr(y.Value)
		}) {
			t.Errorf("no interrupted frame at %#x", y.Value)
		}
	}
}

// TestReplayARM64 walks what a kernel and a processor (emulated, with and without pointer
// authentication) made of the programs in testdata/snapshots/arm64/src, whose chains of calls
// are known from their sources.
func TestReplayARM64(t *testing.T) {
	for _, tc := range []struct {
		name, file string
		want       []string // stacks of the first threads; all others end at their root
		why        string   // in the reason why the first stack ends; "" for a root
	}{
		{"a frame record in each function, LR stale", "chain-frame",
			[]string{"spin(context) gamma(code) beta(code) alpha(code) main_(code) _start(code) root"}, ""},
		{"leaf without a frame: its caller is in LR alone", "chain-leaf",
			[]string{"spin(context) gamma(code) beta(code) alpha(code) main_(code) _start(code) root"}, ""},
		{"neither tables nor frame pointers", "chain-bare",
			[]string{"spin(context) gamma(code) beta(code) alpha(code) main_(code) _start(code) root"}, ""},
		{"frame record that leads back to itself", "chain-cycle",
			[]string{"spin(context) gamma(code) beta(code) alpha(code) main_(code) _start(code) root"}, ""},
		{"tables, no frame pointers", "chain-nofp",
			[]string{"spin(context) gamma(cfi) beta(cfi) alpha(cfi) main_(cfi) _start(cfi) root"}, ""},
		{"row without a rule for LR in a leaf", "chain-nofp-leaf",
			[]string{"spin(context) gamma(cfi) beta(cfi) alpha(cfi) main_(cfi) _start(cfi) root"}, ""},
		{"signed return addresses, tables", "chain-pac",
			[]string{"spin(context) gamma(cfi) beta(cfi) alpha(cfi) main_(cfi) _start(cfi) root"}, ""},
		{"signed return addresses, leaf", "chain-pac-leaf",
			[]string{"spin(context) gamma(cfi) beta(cfi) alpha(cfi) main_(cfi) _start(cfi) root"}, ""},
		{"signed return addresses, frame records", "chain-pac-notables",
			[]string{"spin(context) gamma(code) beta(code) alpha(code) main_(code) _start(code) root"}, ""},
		{"the same program where nothing is signed", "chain-pac-notables-a57",
			[]string{"spin(context) gamma(code) beta(code) alpha(code) main_(code) _start(code) root"}, ""},
		{"tables by x29 behind code without", "mixed-fp",
			[]string{"spin(context) gamma(code) beta(code) alpha(cfi) main_(cfi) _start(cfi) root"},
			""},
		{"tables by SP behind code without", "mixed-nofp",
			[]string{"spin(context) gamma(code) beta(code) alpha(cfi) main_(cfi) _start(cfi) root"}, ""},
		{"tables by SP behind a leaf without", "mixed-leaf",
			[]string{"spin(context) gamma(code) beta(cfi) alpha(cfi) main_(cfi) _start(cfi) root"}, ""},
		{"tables by SP behind a leaf without that moved SP", "mixed-leaf-array",
			[]string{"spin(context) gamma(code) beta(cfi) alpha(cfi) main_(cfi) _start(cfi) root"}, ""},
		{"signal in a leaf: LR lives under it", "signal",
			[]string{"spin(context) inner(cfi) handler(cfi) signal(cfi) victim!(context) beta(cfi) alpha(cfi) " +
				"main_(cfi) _start(cfi) root"}, ""},
		{"signal, signed return addresses", "signal-pac",
			[]string{"spin(context) inner(cfi) handler(cfi) signal(cfi) victim!(context) beta(cfi) alpha(cfi) " +
				"main_(cfi) _start(cfi) root"}, ""},
		{"signal frame found behind a frame record", "signal-notables",
			[]string{"spin(context) inner(code) handler(code) signal(code) victim!(context) beta(code) " +
				"alpha(code) main_(code) _start(code) root"}, ""},
		{"handler on another stack", "signal-altstack",
			[]string{"spin(context) inner(cfi) handler(cfi) signal(cfi) victim!(context) beta(cfi) alpha(cfi) " +
				"main_(cfi) _start(cfi) root"}, ""},
		{"handler on another stack, frame records", "signal-altstack-notables",
			[]string{"spin(context) inner(code) handler(code) signal(code) victim!(context) beta(code) " +
				"alpha(code) main_(code) _start(code) root"}, ""},
		{"threads blocked in the C library", "blocked",
			[]string{"__futex_abstimed_wait_cancelable64(context) __pthread_clockjoin_ex(cfi) main(cfi) " +
				"__libc_start_call_main(cfi) __libc_start_main(cfi) _start(cfi) root",
				"pause(context) worker(cfi) start(cfi) start_thread(cfi) thread_start(cfi) root"}, ""},
		{"gcc's rows by SP behind frame records", "callback",
			[]string{"spin(context) compare(code) msort_with_tmp.part.0(code) __qsort_r(cfi) main(cfi) " +
				"__libc_start_call_main(code) __libc_start_main(cfi) _start(cfi) root"}, ""},
		{"Go, leaf without a frame", "golang-leaf",
			[]string{"main.leaf(context) main.gamma(pcsp) main.beta(pcsp) main.alpha(pcsp) main.main(pcsp) " +
				"runtime.main(pcsp) runtime.goexit.abi0(pcsp) root"}, ""},
		{"Go, function with a frame", "golang-frame",
			[]string{"main.frame(context) main.gamma(pcsp) main.beta(pcsp) main.alpha(pcsp) main.main(pcsp) " +
				"runtime.main(pcsp) runtime.goexit.abi0(pcsp) root"}, ""},
		{"Go, on the system stack of the thread", "golang-systemstack",
			[]string{"main.frame(context) main.onSystemStack(pcsp) runtime.systemstack.abi0(pcsp) " +
				"runtime.systemstack(pcsp) main.gamma(pcsp) main.beta(pcsp) main.alpha(pcsp) main.main(pcsp) " +
				"runtime.main(pcsp) runtime.goexit.abi0(pcsp) root"}, ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := replay(t, "arm64", tc.file)
			if len(r.Threads) < len(tc.want) {
				t.Fatalf("%d threads, want %d", len(r.Threads), len(tc.want))
			}
			for i := range r.Threads {
				s := r.walk(&r.Threads[i])
				if i >= len(tc.want) {
					if s.Stop != unwind.Root {
						t.Errorf("thread %d (%v): got %s, want its root", i, s.Err, r.show(s))
					}
					continue
				}
				if got := r.show(s); got != tc.want[i] {
					t.Errorf("thread %d (%v):\ngot  %s\nwant %s", i, s.Err, got, tc.want[i])
				}
				if s.Stop != unwind.Root && !strings.Contains(s.Err.Error(), tc.why) {
					t.Errorf("thread %d: reason %v, want %q in it", i, s.Err, tc.why)
				}
				r.checkCalls(t, s)
				r.checkTrapped(t, s)
			}
		})
	}
}

// Where runtime.systemstack has nothing to switch it gives its frame back before the jump at its end: the link register
// is the caller's then, and with the last instruction the frame pointer too.
func TestReplayARM64SystemstackJumps(t *testing.T) {
	const jump = 0xd61f0060 // br x3
	r := replay(t, "arm64", "golang-systemstack")
	th := r.Threads[0]
	caller := r.walk(&th).Frames[4]
	y := r.symbols[slices.IndexFunc(r.symbols, func(y elf.Symbol) bool { return y.Name == "runtime.systemstack.abi0" })]
	at := y.Value
	for at < y.Value+y.Size && r.instruction(at) != jump {
		at += 4
	}
	const want = "runtime.systemstack.abi0(context) main.gamma(pcsp) main.beta(pcsp) main.alpha(pcsp) " +
		"main.main(pcsp) runtime.main(pcsp) runtime.goexit.abi0(pcsp) root"
	for pc, below := range map[uint64]uint64{at - 4: 16 + 8, at: 8} {
		now := *th.Registers
		now.Set(now.Arch.PC, pc)
		now.Set(now.Arch.SP, uint64(caller.SP))
		now.Set(now.Arch.FP, uint64(caller.SP)-below)
		now.Set(now.Arch.LR, uint64(caller.PC))
		th.Registers = &now
		if got := r.show(r.walk(&th)); got != want {
			t.Errorf("at %#x:\ngot  %s\nwant %s", pc, got, want)
		}
	}
}

// At its last instruction, ret, runtime.systemstack is back on the stack of its caller, as all that switch stacks are:
// SP is the caller's, and not a bound of it.
func TestReplayARM64SystemstackReturns(t *testing.T) {
	const ret = 0xd65f03c0
	r := replay(t, "arm64", "golang-systemstack")
	th := r.Threads[0]
	caller := r.walk(&th).Frames[4]
	y := r.symbols[slices.IndexFunc(r.symbols, func(y elf.Symbol) bool { return y.Name == "runtime.systemstack.abi0" })]
	at := y.Value
	for at < y.Value+y.Size && r.instruction(at) != ret {
		at += 4
	}
	now := *th.Registers
	now.Set(now.Arch.PC, at)
	now.Set(now.Arch.SP, uint64(caller.SP))
	now.Set(now.Arch.FP, uint64(caller.SP)-8)
	now.Set(now.Arch.LR, uint64(caller.PC))
	th.Registers = &now
	const want = "runtime.systemstack.abi0(context) main.gamma(pcsp) main.beta(pcsp) main.alpha(pcsp) " +
		"main.main(pcsp) runtime.main(pcsp) runtime.goexit.abi0(pcsp) root"
	if got := r.show(r.walk(&th)); got != want {
		t.Errorf("at %#x:\ngot  %s\nwant %s", at, got, want)
	}
}

// Between the two instructions that make a small frame of Go the frame pointer is still the caller's, and what lies
// where it will be is not.
func TestReplayARM64SavesFP(t *testing.T) {
	const stur = 0xf81f83fd
	r := replay(t, "arm64", "golang-systemstack")
	th := r.Threads[0]
	called := r.walk(&th).Frames[1] // by runtime.systemstack
	y, _ := r.function(uint64(called.PC))
	at := y.Value
	for at < y.Value+y.Size && r.instruction(at) != stur {
		at += 4
	}
	now := *th.Registers
	saved := called.SP - 8 - th.Stack.Start
	th.Stack.Data = slices.Clone(th.Stack.Data)
	now.Set(now.Arch.PC, at)
	now.Set(now.Arch.SP, uint64(called.SP))
	now.Set(now.Arch.FP, binary.LittleEndian.Uint64(th.Stack.Data[saved:]))
	binary.LittleEndian.PutUint64(th.Stack.Data[saved:], uint64(called.SP))
	th.Registers = &now
	const want = "main.onSystemStack(context) runtime.systemstack.abi0(pcsp) runtime.systemstack(pcsp) " +
		"main.gamma(pcsp) main.beta(pcsp) main.alpha(pcsp) main.main(pcsp) runtime.main(pcsp) " +
		"runtime.goexit.abi0(pcsp) root"
	if got := r.show(r.walk(&th)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// runtime.asyncPreempt gives all registers back before it goes on with what was interrupted: where that is, is in one
// that it does not give back.
func TestReplayARM64PreemptedGoesOn(t *testing.T) {
	// The file does not have the code of this function, whose last instruction is ret x27.
	const ret, size = 0xd65f0360, 0x10c
	r := replay(t, "arm64", "golang-systemstack")
	th := r.Threads[0]
	frames := r.walk(&th).Frames
	interrupted, caller := frames[4], frames[5]
	i := slices.IndexFunc(r.symbols, func(y elf.Symbol) bool { return y.Name == "runtime.asyncPreempt.abi0" })
	y := r.symbols[i]
	at := y.Value + size - 4
	for _, p := range r.program.Progs {
		if p.Type == elf.PT_LOAD && p.Vaddr <= at && at < p.Vaddr+p.Filesz {
			binary.LittleEndian.PutUint32(r.file[p.Off+at-p.Vaddr:], ret)
		}
	}
	now := *th.Registers
	now.Set(now.Arch.PC, at)
	now.Set(now.Arch.SP, uint64(interrupted.SP))
	now.Set(now.Arch.FP, uint64(interrupted.SP)-8)
	now.Set(now.Arch.LR, uint64(caller.PC))
	now.Set(regs.ARM64X0+27, uint64(interrupted.PC))
	th.Registers = &now
	const want = "runtime.asyncPreempt.abi0(context) main.gamma!(pcsp) main.beta(pcsp) main.alpha(pcsp) " +
		"main.main(pcsp) runtime.main(pcsp) runtime.goexit.abi0(pcsp) root"
	if got := r.show(r.walk(&th)); got != want {
		t.Errorf("got  %s\nwant %s", got, want)
	}
}

// Without the mask that the kernel gave, signed return addresses lead nowhere: so the
// recordings hold real ones.
func TestReplayARM64NeedsMask(t *testing.T) {
	for _, file := range []string{"chain-pac", "chain-pac-notables", "signal-pac"} {
		r := replay(t, "arm64", file)
		th := r.Threads[0]
		if th.PACMask == 0 {
			t.Errorf("%s: mask of the recording is 0", file)
		}
		th.PACMask = 0
		if s := r.walk(&th); s.Stop == unwind.Root {
			t.Errorf("%s: without mask got %s", file, r.show(s))
		}
	}
}

// Where nobody knows the bounds of functions, the call that is before a return address, in LR or on the stack, proves
// a caller.
func TestReplayARM64WithoutBounds(t *testing.T) {
	for _, tc := range []struct {
		name, file string
		want, note string
	}{
		{"leaf without a frame", "chain-leaf",
			"spin(context) gamma(code) beta(code) alpha(code) main_(code) _start(code) root", ""},
		{"leaf behind a table", "mixed-leaf",
			"spin(context) gamma(code) beta(cfi) alpha(cfi) main_(cfi) _start(cfi) root", ""},
		{"LR stale", "chain-frame",
			"spin(context) gamma(code) beta(code) alpha(code) main_(code) _start(code) root", ""},
		{"signal in a leaf", "signal-notables",
			"spin(context) inner(code) handler(code) signal(code) victim!(context) beta(code) alpha(code) " +
				"main_(code) _start(code) root", ""},
	} {
		t.Run(tc.name, func(t *testing.T) {
			r := replay(t, "arm64", tc.file)
			th := &r.Threads[0]
			s := unwind.NewWalker(r.set, nil).Walk(th, r.Reader(th, nil), unwind.Options{})
			if got := r.show(s); got != tc.want {
				t.Errorf("got  %s\nwant %s (%v)", got, tc.want, s.Err)
			}
			if note := s.Frames[1].Note; (note == "") != (tc.note == "") || !strings.Contains(note, tc.note) {
				t.Errorf("note %q, want %q in it", note, tc.note)
			}
		})
	}
}
