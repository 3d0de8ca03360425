package wasmtime

import (
	"bytes"
	"debug/elf"
	"errors"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/symbol"
)

// function is one function of an image, [start, end) from the beginning of the code.
type function struct {
	start, end uint32
	symbol     uint32 // number in .symtab
	name       uint32 // offset in .strtab
	// full is the place in fullNames.names, from 1, of a function whose symbol has no name, or less than the whole;
	// below 0 that in exports; 0 for others.
	full int32
}

var errSymbols = errors.New(".symtab is malformed")

// readFunctions reads the functions out of .symtab.
func (im *image) readFunctions() error {
	n := len(im.symbols) / symbolSize
	if n > maxSymbols {
		return fmt.Errorf("it has %d symbols, at most %d are read", n, maxSymbols)
	}
	size := uint64(im.text.End - im.text.Start)
	for i := range n {
		s := im.symbols[i*symbolSize:]
		value, length, name := order.Uint64(s[8:]), order.Uint64(s[16:]), order.Uint32(s)
		if elf.SymType(s[4]&0xf) != elf.STT_FUNC {
			continue
		}
		if value > size || length > size-value || uint64(name) >= uint64(len(im.names)) {
			return errSymbols
		}
		if length > 0 {
			im.functions = append(im.functions, function{uint32(value), uint32(value + length), uint32(i), name, 0})
		}
	}
	ascending := func(a, b function) int { return int(a.start) - int(b.start) }
	if !slices.IsSortedFunc(im.functions, ascending) {
		slices.SortStableFunc(im.functions, ascending)
	}
	for i := 1; i < len(im.functions); i++ {
		if im.functions[i].start < im.functions[i-1].end {
			return errSymbols
		}
	}
	return nil
}

// functionAt returns the function that holds pc, nil if none does.
func (im *image) functionAt(pc mem.Addr) *function {
	if pc < im.text.Start || pc >= im.text.End {
		return nil
	}
	at := uint32(pc - im.text.Start)
	i, found := slices.BinarySearchFunc(im.functions, at, func(f function, at uint32) int {
		switch {
		case f.end <= at:
			return -1
		case f.start > at:
			return 1
		}
		return 0
	})
	if !found {
		return nil
	}
	return &im.functions[i]
}

// nameOf is the string of a function with its end, as .strtab has it.
func (im *image) nameOf(f *function) []byte {
	return cString(im.names[f.name:])
}

// cString cuts b, of which maxName bytes count, behind its first 0, which belongs to the result.
func cString(b []byte) []byte {
	b = b[:min(len(b), maxName)]
	if i := bytes.IndexByte(b, 0); i >= 0 {
		return b[:i+1]
	}
	return b
}

// role says what a function of an image is for.
type role uint8

const (
	wasmFunction role = iota
	entryGlue         // from the host into WebAssembly
	otherGlue         // out of it, builtins
)

// label is what the string of a symbol says.
type label struct {
	role    role
	module  int // static index of the module in the image, -1 if it belongs to none
	index   int // of the function, imports counted; -1 if unknown
	name    string
	linkage string // the whole string
}

// maxName bounds the bytes of a name that are shown: those that are copied while the thread is stopped.
const maxName = 512

// parseLabel reads the name that wasmtime gave a symbol: wasm[M]::function[N]::NAME for a function, NAME missing up to
// v20 and where the module has none; wasm[M]::array_to_wasm_trampoline[N] for an entry, and others.
func parseLabel(s string) label {
	l := label{role: otherGlue, module: -1, index: -1, linkage: s}
	module, rest, ok := bracketed(s, "wasm")
	if ok {
		l.module = module
	} else {
		rest = s
	}
	switch {
	case strings.HasPrefix(rest, "array_to_wasm_trampoline"), strings.HasPrefix(rest, "native_to_wasm_trampoline"):
		l.role = entryGlue
	case ok:
		if index, name, ok := bracketed(rest, "function"); ok {
			l.role, l.index, l.name = wasmFunction, index, name
		}
	}
	if l.role != wasmFunction {
		l.name = rest
	}
	return l
}

// bracketed cuts "prefix[N]::" off s; what follows may be missing.
func bracketed(s, prefix string) (n int, rest string, ok bool) {
	s, ok = strings.CutPrefix(s, prefix+"[")
	if !ok {
		return 0, "", false
	}
	digits, rest, ok := strings.Cut(s, "]")
	if !ok {
		return 0, "", false
	}
	n, err := strconv.Atoi(digits)
	rest, more := strings.CutPrefix(rest, "::")
	return n, rest, err == nil && n >= 0 && (more || rest == "")
}

// shown is the name as a person reads it: demangled if it is mangled, the index of a function that has none.
func (l *label) shown() string {
	switch {
	case l.name == "" && l.role == wasmFunction:
		return "wasm-function[" + strconv.Itoa(l.index) + "]"
	case strings.HasPrefix(l.name, "_Z"), strings.HasPrefix(l.name, "_R"):
		return symbol.Demangle(l.name)
	}
	return l.name
}
