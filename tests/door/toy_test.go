//go:build linux && amd64

package door

import (
	"errors"
	"fmt"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/memory"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/vm"
)

// toy is the runtime of testdata/live/toy.c.
type toy struct {
	machine           int64 // of a thread, from its thread pointer
	code, interpreter unwind.Region
	switched          mem.Addr
	sites             map[string]unwind.Site // by content
	names             [][]profile.Frame      // by Site
	asked             int                    // for rows
}

var _ interface {
	unwind.Runtime
	unwind.RowSource
	unwind.Crosser
	unwind.Identifier
	resolve.SiteNamer
	snapshot.Copier
} = (*toy)(nil)

var order = regs.AMD64.Order

const (
	magic      = 0x796f745f656e6f00
	secondSize = 64 << 10
	firstPart  = 8 << 10 // what is copied of the first stack
	maxFrames  = 16
)

// kind recognises the toy by a section of its program.
var kind = vm.Kind{Name: "toy", New: func(m *module.Module, image module.Image) (unwind.Runtime, error) {
	s, ok := m.Section(".toy")
	if !ok {
		return nil, nil
	}
	var b [64]byte
	if _, err := image.Memory.ReadMem(b[:], m.Addr(s.Addr)); err != nil {
		return nil, err
	}
	word := func(i int) uint64 { return order.Uint64(b[8*i:]) }
	if word(0) != magic {
		return nil, errors.New("it has not begun")
	}
	return &toy{machine: int64(word(1)), code: unwind.Region{Start: mem.Addr(word(2)), End: mem.Addr(word(2) + word(3)),
		Generation: 1},
		switched: mem.Addr(word(5)), interpreter: unwind.Region{Start: mem.Addr(word(6)), End: mem.Addr(word(7))},
		sites: map[string]unwind.Site{}, names: make([][]profile.Frame, 1)}, nil
}}

func (r *toy) String() string { return "toy" }

func (r *toy) Region(pc mem.Addr) (unwind.Region, bool) {
	return r.code, pc >= r.code.Start && pc < r.code.End
}

// Row knows the code with the aligned frame, behind its first three instructions: push rbx; mov rbx,rsp; and rsp,-256.
func (r *toy) Row(_ unwind.Region, pc mem.Addr, _ bool) (*cfi.Row, bool, error) {
	r.asked++
	if pc >= r.switched {
		return nil, false, nil
	}
	if pc < r.code.Start+11 {
		return nil, false, errors.New("in a prologue")
	}
	rbx := uint64(regs.AMD64RBX)
	return &cfi.Row{Start: uint64(pc), End: uint64(pc) + 1, RAReg: uint64(regs.AMD64RIP),
		CFA: cfi.Rule{Kind: cfi.Register, Reg: rbx, N: 16}, RA: cfi.Rule{Kind: cfi.Offset, N: -8},
		Regs: []cfi.RegRule{{Reg: rbx, Rule: cfi.Rule{Kind: cfi.Offset, N: -16}}}}, true, nil
}

// Cross goes back to the first stack: the stack pointer that was left is above the frame on the second.
func (r *toy) Cross(frames []unwind.Frame, now *regs.Registers, m mem.Reader) (unwind.Crossing, error) {
	if frames[len(frames)-1].LookupPC() < r.switched {
		return unwind.Crossing{}, unwind.ErrDeclined
	}
	sp, _ := now.SP()
	left, err := mem.Uint(m, sp+8, 8, order)
	if err != nil {
		return unwind.Crossing{}, err
	}
	rbp, err := mem.Uint(m, mem.Addr(left), 8, order)
	if err != nil {
		return unwind.Crossing{}, err
	}
	ra, err := mem.Uint(m, mem.Addr(left)+8, 8, order)
	if err != nil {
		return unwind.Crossing{}, err
	}
	if _, ok := r.Region(mem.Addr(ra)); !ok {
		return unwind.Crossing{}, fmt.Errorf("%#x is none of its code", ra)
	}
	next := *now
	next.Set(regs.AMD64.SP, left+16)
	next.Set(regs.AMD64.PC, ra)
	next.Set(regs.AMD64.FP, rbp)
	return unwind.Crossing{Registers: next}, nil
}

// machineOf is the struct machine of t: by its thread pointer, or by the block that its stack pointer is in.
func (r *toy) machineOf(t *snapshot.Thread, m mem.Reader, sp mem.Addr) (mem.Addr, bool) {
	if t.HasTP {
		return t.TP + mem.Addr(r.machine), true
	}
	v, err := mem.Uint(m, sp&^(secondSize-1), 8, order)
	return mem.Addr(v), err == nil
}

func stackPointer(t *snapshot.Thread) mem.Addr {
	if t.Registers != nil {
		sp, _ := t.Registers.SP()
		return sp
	}
	if t.Syscall != nil {
		return t.Syscall.SP
	}
	return 0
}

// Copy copies the machine, the first stack, and the interpreted frames. They are in that stack.
func (r *toy) Copy(t *snapshot.Thread, f *snapshot.Fetcher) {
	at, ok := mem.Addr(0), false
	if t.HasTP {
		at, ok = t.TP+mem.Addr(r.machine), true
	} else if block := stackPointer(t) &^ (secondSize - 1); f.Fetch(snapshot.Want{Addr: block, Len: 8}) {
		v, _ := f.Word(block)
		at, ok = mem.Addr(v), true
	}
	if !ok || !f.Fetch(snapshot.Want{Addr: at, Len: 24}) {
		return
	}
	if v, _ := f.Word(at); v != magic {
		return
	}
	end, _ := f.Word(at + 16)
	if slot := mem.Addr(end) - 8; f.Fetch(snapshot.Want{Addr: slot, Len: 8}) {
		left, _ := f.Word(slot)
		f.Fetch(snapshot.Want{Addr: mem.Addr(left), Len: firstPart})
	}
}

// Identify names the frames of written code, and gives the frame of the interpreter a Site for all that it interprets.
func (r *toy) Identify(t *snapshot.Thread, s *unwind.Stack, m mem.Reader) {
	for i := range s.Frames {
		f := &s.Frames[i]
		switch pc := f.LookupPC(); {
		case pc >= r.switched && pc < r.code.End:
			f.Runtime, f.Site = r, r.site("switched")
		case pc >= r.code.Start && pc < r.code.End:
			f.Runtime, f.Site = r, r.site("aligned")
		case pc >= r.interpreter.Start && pc < r.interpreter.End:
			names, err := r.interpreted(t, m)
			if err != nil {
				f.Note = "not named: toy: " + err.Error()
				continue
			}
			f.Runtime, f.Site = r, r.site(names...)
		}
	}
}

// interpreted are the functions of the frames that t interprets, innermost first.
func (r *toy) interpreted(t *snapshot.Thread, m mem.Reader) (names []string, err error) {
	at, ok := r.machineOf(t, m, stackPointer(t))
	if !ok {
		return nil, errors.New("its machine is not known")
	}
	frame, err := mem.Uint(m, at+8, 8, order)
	for ; frame != 0 && err == nil && len(names) < maxFrames; frame, err = mem.Uint(m, mem.Addr(frame), 8, order) {
		function, err := mem.Uint(m, mem.Addr(frame)+8, 8, order)
		if err != nil {
			return nil, err
		}
		var name [16]byte
		if _, err := m.ReadMem(name[:], mem.Addr(function)); err != nil {
			return nil, err
		}
		names = append(names, string(name[:length(name[:])]))
	}
	return names, err
}

func length(b []byte) int {
	for i, c := range b {
		if c == 0 {
			return i
		}
	}
	return len(b)
}

// site is the Site of these functions, each called by the next.
func (r *toy) site(names ...string) unwind.Site {
	key := fmt.Sprint(names)
	n, ok := r.sites[key]
	if !ok {
		n = unwind.Site(len(r.names))
		r.sites[key] = n
		var frames []profile.Frame
		for i, name := range names {
			frames = append(frames, profile.Frame{Func: "toy:" + name, Kind: profile.JIT, Inlined: i < len(names)-1})
		}
		r.names = append(r.names, frames)
	}
	return n
}

func (r *toy) Frames(site unwind.Site) []profile.Frame { return r.names[site] }

// TestCopyIsCheap bounds what Copy takes of a thread by calls and bytes, as time depends on the machine.
func TestCopyIsCheap(t *testing.T) {
	i := memory.NewImage(0x10000, 8, order)
	i.Label("machine").Word(magic).Word(0).Ref("end").Word(0).Ref("first").Label("end").Word(0)
	i.Label("first").Skip(firstPart / 8)
	m := &drawn{Range: i.Range()}
	thread := &snapshot.Thread{Arch: regs.AMD64, TP: i.Addr("machine") + 64, HasTP: true}
	r := &toy{machine: -64}
	f := snapshot.Fetcher{Budget: snapshot.Budget{Calls: 8, Ranges: 16, Bytes: 16 << 10, Time: 1 << 60}}
	copiers := []snapshot.Copier{r}
	run := func() { f.Run(copiers, thread, m) }
	run()
	calls := m.calls
	if calls > 4 || len(thread.Copied) != 3 || len(thread.Shortfalls) > 0 {
		t.Errorf("%d calls, %d ranges, %v; want 3 ranges", calls, len(thread.Copied), thread.Shortfalls)
	}
	run()
	if n := testing.AllocsPerRun(100, run); n != 0 {
		t.Errorf("%v allocations, want 0", n)
	}
}

// drawn is a memory that is read by pieces.
type drawn struct {
	mem.Range
	calls int
}

func (d *drawn) ReadPieces(pieces []snapshot.Piece) error {
	d.calls++
	for i := range pieces {
		b, ok := d.Bytes(pieces[i].Addr, len(pieces[i].Data))
		if ok {
			pieces[i].Got = copy(pieces[i].Data, b)
		}
	}
	return nil
}
