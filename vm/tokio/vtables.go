package tokio

import (
	"debug/elf"
	"encoding/binary"
	"fmt"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// vtable is what tokio keeps of one type of future with one kind of scheduler: struct Vtable of task/raw.rs.
type vtable struct {
	at      mem.Addr
	poll    mem.Addr
	dealloc mem.Addr
	// take is what a JoinHandle calls, with the header of the task that it waits for.
	take    mem.Addr
	trailer int64 // offset of the trailer from the header, bytes
	id      int64
}

const (
	wordSize = 8

	vtableFunctions = 7
	vtableWords     = 10
	vtablePoll      = 0
	vtableDealloc   = 2
	vtableTake      = 3
	vtableTrailer   = 7
	vtableScheduler = 8
	vtableID        = 9

	// headerSize is what a header has at the least: state, queue_next, vtable, owner_id.
	headerSize = 32
	// maxTask bounds a task, bytes.
	maxTask = 1 << 26
	// maxVtables bounds the tables of a module, and maxData the memory in which they are searched for, bytes.
	maxVtables = 1 << 14
	maxData    = 64 << 20
	// maxKept is how much of it is kept with a snapshot at the most, bytes.
	maxKept = 512 << 10
)

var order = binary.LittleEndian

// data are the parts of a module in which the linker puts tables of functions: what is read-only after relocation, or
// all that is not code where nothing is relocated.
func (r *Runtime) data() (out []mem.Span[mem.Addr]) {
	for _, want := range []elf.ProgType{elf.PT_GNU_RELRO, elf.PT_LOAD} {
		for _, s := range r.m.Segments() {
			if elf.ProgType(s.Type) == want && elf.ProgFlag(s.Flags)&elf.PF_X == 0 {
				at := r.m.Addr(s.Addr)
				out = append(out, mem.Span[mem.Addr]{Start: at, End: at + mem.Addr(min(s.MemSz, maxData))})
			}
		}
		if len(out) > 0 {
			return out
		}
	}
	return nil
}

// findVtables finds the tables of all types of tasks that the program has.
func (r *Runtime) findVtables() (out []vtable, err error) {
	const piece = 64 << 10
	left := mem.Addr(maxData)
	for _, s := range r.data() {
		size := min(s.End-s.Start, left)
		left -= size
		from := r.scratch
		if size <= maxKept {
			from = r.image.Memory
		}
		v := view.Lasting(from, r.budget)
		for at := (s.Start + wordSize - 1) &^ (wordSize - 1); at+vtableWords*wordSize <= s.Start+size; {
			b := v.UpTo(at, int(min(piece, s.Start+size-at)))
			if len(b) < vtableWords*wordSize {
				err = v.Fault()
				break
			}
			words := view.WordsOf(b)
			for i := 0; i+vtableWords <= len(words) && len(out) < maxVtables; i++ {
				if t, ok := r.vtable(words[i : i+vtableWords]); ok {
					t.at = at + mem.Addr(i*wordSize)
					out = append(out, t)
				}
			}
			at += mem.Addr((len(words) - vtableWords + 1) * wordSize)
		}
	}
	if len(out) == maxVtables && err == nil {
		err = fmt.Errorf("of tokio no more than %d kinds of tasks are known", maxVtables)
	}
	return out, err
}

// vtable is the table that w are the words of, false if they are none: seven functions of the program, then where the
// parts of a task lie, which has its scheduler behind the header, its id behind that, and the trailer last.
func (r *Runtime) vtable(w []uint64) (vtable, bool) {
	trailer, scheduler, id := w[vtableTrailer], w[vtableScheduler], w[vtableID]
	if trailer >= maxTask || (trailer|id)%wordSize != 0 || scheduler < headerSize || id < scheduler || trailer <= id {
		return vtable{}, false
	}
	for _, f := range w[:vtableFunctions] {
		if _, ok := r.m.Code(r.m.Vaddr(mem.Addr(f))); !ok {
			return vtable{}, false
		}
	}
	return vtable{poll: mem.Addr(w[vtablePoll]), dealloc: mem.Addr(w[vtableDealloc]), take: mem.Addr(w[vtableTake]),
		trailer: int64(trailer), id: int64(id)}, true
}

// bytesAt are up to n bytes of code at a, by the file of the module.
func (r *Runtime) bytesAt(a mem.Addr, n int) []byte {
	b, ok := r.m.Text(r.m.Vaddr(a))
	if !ok {
		return nil
	}
	return b[:min(len(b), n)]
}

// vaddr is where a is linked.
func (r *Runtime) vaddr(a mem.Addr) module.Vaddr { return r.m.Vaddr(a) }
