package cpython

import (
	"bytes"
	"errors"
	"path"
	"strconv"
	"strings"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/vm/view"
)

const (
	runtimeSymbol  = "_PyRuntime"
	runtimeSection = ".PyRuntime" // from 3.10 on: it stays where all symbols are gone
	versionSymbol  = "Py_Version" // from 3.11 on: PY_VERSION_HEX
)

// leastRuntime is less than _PyRuntime ever took, bytes: it has 32 exit functions, and is 656 at the least, in 3.9.
const leastRuntime = 512

// findRuntime returns where m has _PyRuntime, false if it holds no interpreter.
func findRuntime(m *module.Module) (module.Vaddr, bool) {
	if machines[regs.OfELF(m.Machine(), m.Class())] == nil {
		return 0, false
	}
	if d := symbol.OpenDynamic(m); d != nil {
		if v, _, ok := d.Lookup(runtimeSymbol); ok {
			return v, true
		}
	}
	if v, ok := symbol.Large(m, runtimeSymbol, leastRuntime); ok {
		return v.Addr, true
	}
	if s, ok := m.Section(runtimeSection); ok && s.Addr != 0 {
		return s.Addr, true
	}
	return 0, false
}

// find looks a symbol up: by the hash table of what m exports, or in .symtab.
func find(m *module.Module, name string) (v module.Vaddr, ok bool) {
	if d := symbol.OpenDynamic(m); d != nil {
		if v, _, ok := d.Lookup(name); ok {
			return v, true
		}
	}
	if !symbol.MayDefine(m, ".symtab", name) {
		return 0, false
	}
	_ = symbol.Each(m, ".symtab", func(s []byte, at module.Vaddr, _ uint64) bool { // not read: not found
		if string(s) == name {
			v, ok = at, true
		}
		return !ok
	})
	return v, ok
}

var (
	errNoMemory  = errors.New("its memory cannot be read")
	errNoVersion = errors.New("its release is not known")
)

// layoutOf finds out the release of the interpreter in m, whose _PyRuntime is at a: by what that says of itself, by
// Py_Version, by the name of the file, or by what fits the memory.
func layoutOf(m *module.Module, image module.Image, a mem.Addr) (*object.Layout, error) {
	if image.Memory == nil {
		return nil, errNoMemory
	}
	memory := view.Lasting(image.Memory, image.Budget)
	if b, ok := memory.Bytes(a, object.OffsetsSize); ok && bytes.HasPrefix(b, []byte(object.Cookie)) {
		return object.Described(b)
	}
	if v, ok := versionOf(m); ok {
		return object.Known(v)
	}
	mach := machines[regs.OfELF(m.Machine(), m.Class())]
	for minor := 12; minor >= 8; minor-- {
		l, err := object.Known(object.Version{Major: 3, Minor: minor})
		if err == nil && fits(l, mach, &memory, a) {
			return l, nil
		}
	}
	return nil, errNoVersion
}

// versionOf is the release as the object says it.
func versionOf(m *module.Module) (object.Version, bool) {
	if v, ok := find(m, versionSymbol); ok {
		if b, ok := m.Loaded(v); ok && len(b) >= 8 {
			hex := order.Uint64(b)
			return object.Version{Major: int(hex >> 24 & 0xff), Minor: int(hex >> 16 & 0xff)}, true
		}
	}
	return versionNamed(m.Path)
}

// versionNamed is the release as the name of the file says it: libpython3.11.so.1.0, python2.7.
func versionNamed(file string) (object.Version, bool) {
	major, minor, ok := strings.Cut(strings.TrimPrefix(path.Base(file), "lib"), ".")
	major, isPython := strings.CutPrefix(major, "python")
	if !ok || !isPython {
		return object.Version{}, false
	}
	if end := strings.IndexFunc(minor, func(r rune) bool { return r < '0' || r > '9' }); end >= 0 {
		minor = minor[:end]
	}
	m, err1 := strconv.Atoi(major)
	n, err2 := strconv.Atoi(minor)
	return object.Version{Major: m, Minor: n}, err1 == nil && err2 == nil
}

// tooOld says of a file without _PyRuntime that it holds a release from before that: 3.6 and earlier.
func tooOld(m *module.Module) error {
	const last = 6
	v, ok := versionNamed(m.Path)
	if !ok || v.Major != 2 && (v.Major != 3 || v.Minor > last) {
		return nil
	}
	if _, evaluates := find(m, "PyEval_EvalFrameEx"); !evaluates { // the interpreter is in a library
		return nil
	}
	_, err := object.Known(v)
	return err
}

// fits reports whether the first thread of the first interpreter is one, by that layout: it leads back, and its
// pthread_self is a block that has its own address where glibc's has it.
func fits(l *object.Layout, mach *machine, m *view.View, a mem.Addr) bool {
	interp, ok := object.Pointer(m, a+mem.Addr(l.Runtime.Interpreters))
	if !ok || interp == 0 {
		return false
	}
	at, ok := object.Pointer(m, interp+mem.Addr(l.Interp.Threads))
	if !ok || at == 0 {
		return false
	}
	b, ok := m.Bytes(at, l.Thread.Size)
	if !ok {
		return false
	}
	t := l.ThreadOf(at, b)
	if mach.self == 0 {
		return t.Interp == interp && t.ThreadID != 0
	}
	own, ok := object.Pointer(m, t.ThreadID+mach.self)
	return t.Interp == interp && ok && own == t.ThreadID
}
