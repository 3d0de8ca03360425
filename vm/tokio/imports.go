package tokio

import (
	"bytes"
	"slices"

	"github.com/fpstack/fpstack/code/emulate"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
)

// What libc has for a processor of the day, with instructions that the emulator does not know, and what takes memory
// from the heap, is done for the code that calls it: by the names that relocations have for the words of its calls.

// imported is a function of libc whose work is done here.
type imported struct {
	do    effect
	frees bool // it is done only where a task is dropped
}

// effect is what a function does to what the machine sees. It reports whether it could.
type effect func(m *emulate.Machine, heap *bump) bool

// freeing are the functions by which what a task has is given back to the kernel, and others are woken: whoever drops a
// task does not look at what comes of it.
var freeing = []string{"close", "epoll_ctl", "syscall", "write", "munmap", "shutdown", "fcntl", "fcntl64"}

// doneBy is what does the work of the function of that name, nil for others.
func doneBy(name string) effect {
	switch name {
	case "memcpy", "memmove":
		return copyMemory
	case "memset":
		return setMemory
	case "memcmp", "bcmp":
		return compareMemory
	case "malloc":
		return func(m *emulate.Machine, heap *bump) bool { return heap.take(m, m.Argument(0), 16) }
	case "calloc":
		return func(m *emulate.Machine, heap *bump) bool { return heap.array(m, m.Argument(0), m.Argument(1)) }
	case "aligned_alloc":
		return func(m *emulate.Machine, heap *bump) bool { return heap.take(m, m.Argument(1), m.Argument(0)) }
	case "posix_memalign":
		return alignedMemory
	case "clock_gettime":
		return noTime
	case "free":
		return func(*emulate.Machine, *bump) bool { return true }
	}
	return nil
}

// slots are the words through which code of the module calls what it imports, by their address.
// Source: System V gABI, "Relocation".
func (r *Runtime) slots() map[uint64]imported {
	const relaSize, symbolSize, maxRelocations = 24, 24, 1 << 20
	out := map[uint64]imported{}
	_, symbols, _ := r.m.Plain(".dynsym")
	_, names, _ := r.m.Plain(".dynstr")
	for _, section := range []string{".rela.dyn", ".rela.plt"} {
		_, b, _ := r.m.Plain(section)
		for n := 0; len(b) >= relaSize && n < maxRelocations; b, n = b[relaSize:], n+1 {
			kind, number := order.Uint32(b[8:]), uint64(order.Uint32(b[12:]))
			at := number * symbolSize
			if !slices.Contains(r.port.slots, kind) || at+symbolSize > uint64(len(symbols)) {
				continue
			}
			name := uint64(order.Uint32(symbols[at:]))
			if name >= uint64(len(names)) {
				continue
			}
			text, _, _ := bytes.Cut(names[name:], []byte{0})
			f := imported{do: doneBy(string(text))}
			if slices.Contains(freeing, string(text)) {
				f = imported{do: succeed, frees: true}
			}
			if f.do != nil {
				out[uint64(r.m.Addr(module.Vaddr(order.Uint64(b))))] = f
			}
		}
	}
	return out
}

// maxMoved bounds what one call moves, bytes.
const maxMoved = 1 << 20

func copyMemory(m *emulate.Machine, _ *bump) bool {
	to, from, n := m.Argument(0), m.Argument(1), m.Argument(2)
	m.SetResult(to)
	if n > maxMoved {
		return false
	}
	b := make([]byte, n)
	return n == 0 || m.Load(b, from) && m.Store(b, to)
}

func setMemory(m *emulate.Machine, _ *bump) bool {
	to, n := m.Argument(0), m.Argument(2)
	m.SetResult(to)
	if n > maxMoved {
		return false
	}
	return n == 0 || m.Store(bytes.Repeat([]byte{byte(m.Argument(1))}, int(n)), to)
}

func compareMemory(m *emulate.Machine, _ *bump) bool {
	n := m.Argument(2)
	if n > maxMoved {
		return false
	}
	a, b := make([]byte, n), make([]byte, n)
	if n > 0 && !(m.Load(a, m.Argument(0)) && m.Load(b, m.Argument(1))) {
		return false
	}
	m.SetResult(uint64(int64(bytes.Compare(a, b))))
	return true
}

func alignedMemory(m *emulate.Machine, heap *bump) bool {
	to := m.Argument(0)
	if !heap.take(m, m.Argument(2), m.Argument(1)) || !m.SetWord(to, m.Result()) {
		return false
	}
	m.SetResult(0)
	return true
}

// succeed is a function that has no more to say than that it could.
func succeed(m *emulate.Machine, _ *bump) bool {
	m.SetResult(0)
	return true
}

// noTime is a clock that stands at 0: no time that a task waits for has come, as whose time has come was woken.
func noTime(m *emulate.Machine, _ *bump) bool {
	at := m.Argument(1)
	m.SetResult(0)
	return m.SetWord(at, 0) && m.SetWord(at+wordSize, 0)
}

// bump is memory that functions take from the heap in a dry run: where no process has any.
type bump struct{ used uint64 }

// own is memory of the dry run alone: no address of a process. It is 0 until it is written.
var own = mem.Span[mem.Addr]{Start: 1 << 62, End: 1<<62 + ownSize}

const (
	ownSize  = 32 << 20
	ownStack = 1 << 20 // of it, the first part
)

func (b *bump) take(m *emulate.Machine, n, align uint64) bool {
	if align == 0 || align > 1<<16 || align&(align-1) != 0 || n > maxMoved {
		return false
	}
	at := (ownStack + b.used + align - 1) &^ (align - 1)
	if at+n > ownSize {
		return false
	}
	b.used = at + n - ownStack
	m.SetResult(uint64(own.Start) + at)
	return true
}

func (b *bump) array(m *emulate.Machine, n, size uint64) bool {
	return n <= maxMoved && size <= maxMoved && b.take(m, n*size, 16)
}
