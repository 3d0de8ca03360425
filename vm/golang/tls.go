package golang

import (
	"debug/elf"
	"fmt"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// tlsOffset is where the g of a thread is, from its thread pointer; 0 where that is not known. The linker gives the
// only variable of a program of that kind, runtime.tlsg, the end of the first block. Where C has such variables too,
// and in a library or plugin, it is wherever the linker or the loader found room: code of the runtime reads it.
// Source: "ELF Handling For Thread-Local Storage", 3.4.6; cmd/link/internal/ld/sym.go.
func (r *Runtime) tlsOffset() int64 {
	if r.port == nil {
		return 0
	}
	program, alone := true, true
	for _, s := range r.m.Segments() {
		switch elf.ProgType(s.Type) {
		case elf.PT_TLS:
			alone = alone && s.MemSz == wordSize
		case elf.PT_DYNAMIC:
			program = false
		}
	}
	for _, s := range r.m.Segments() {
		program = program || elf.ProgType(s.Type) == elf.PT_INTERP
	}
	if program && alone && r.port == &amd64 {
		return -wordSize
	}
	code, at, err := r.codeOf(r.port.tlsReader)
	if err != nil {
		return 0
	}
	return r.port.tls(r, code, at)
}

// readsTLS is the offset from the thread pointer of what the code at an address reads first by that: in the instruction
// itself, or in a register that the one before it sets, to a constant or to a word that the loader has filled in.
// Source: "ELF Handling For Thread-Local Storage", 4.4.6 and 5.5 (initial exec, local exec, and from one to the other).
func (r *Runtime) readsTLS(code []byte, at mem.Addr) int64 {
	const fs, load, constant, size = 0x64, 0x8b, 0xc7, 7 // bytes of the instruction before it
	for i := 0; i+9 <= len(code); i++ {
		if code[i] != fs || !isREX(code[i+1]) || code[i+2] != load {
			continue
		}
		offset, modRM := int64(0), code[i+3]
		before := code[max(i-size, 0):i]
		set := modRM&0xc0 == 0 && len(before) == size && isREX(before[0])
		switch {
		case modRM&0xc7 == 0x04 && code[i+4] == 0x25: // 32 bits alone
			offset = int64(int32(order.Uint32(code[i+5:])))
		case set && before[1] == constant:
			offset = int64(int32(order.Uint32(before[3:])))
		case set && before[1] == load && before[2]&0xc7 == 0x05 && r.memory != nil:
			v := view.Lasting(r.memory, r.budget)
			word, err := v.Word(at + mem.Addr(i) + mem.Addr(int32(order.Uint32(before[3:]))))
			if offset = int64(word); err != nil {
				return 0
			}
		}
		if offset < 0 && offset%wordSize == 0 {
			return offset
		}
	}
	return 0
}

// isREX reports whether b is a prefix that makes an operand 64 bits wide.
func isREX(b byte) bool { return b&0xf8 == 0x48 }

// codeOf is the code of the function with that name, as far as a short one has some, and where it is.
func (r *Runtime) codeOf(name string) ([]byte, mem.Addr, error) {
	const maxFunction = 16 << 10
	f, ok := r.table.Lookup(name)
	if !ok {
		return nil, 0, fmt.Errorf("it has no function %s that would say so", name)
	}
	code, ok := r.m.Text(module.Vaddr(f.Entry))
	if !ok {
		return nil, 0, fmt.Errorf("the code of %s cannot be read", name)
	}
	return code[:min(uint64(len(code)), f.End-f.Entry, maxFunction)], r.m.Addr(module.Vaddr(f.Entry)), nil
}
