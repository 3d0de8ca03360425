package golang

import (
	"encoding/binary"
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/symbol"
	"github.com/fpstack/fpstack/symbol/dwarf"
	"github.com/fpstack/fpstack/vm/view"
)

// layout is where the runtime of one program keeps its goroutines: addresses by .symtab, places in structures by the
// program's own DWARF, so that no release is known by heart.
type layout struct {
	allgs   mem.Addr // the variable, a slice of *g
	g       gLayout
	m       mLayout
	states  []string // by atomicstatus
	reasons []string // by waitreason
}

// gLayout has offsets in struct g, of what a release does not have -1. Of the structure need bytes are read; waiting is
// behind them, and missing in dumps that were saved before it was copied.
type gLayout struct {
	need                                   int
	low, high, m, state, id, since, reason int
	locked, createdBy, start, creator      int
	sp, pc, fp, lr                         int
	waiting                                int
	syscallSP, syscallPC, syscallFP        int
}

// size is how much of struct g is copied, bytes.
func (l *gLayout) size() int { return max(l.need, l.waiting+wordSize) }

// mLayout has offsets in struct m.
type mLayout struct{ need, curg, procid int }

// Names in the runtime: runtime/runtime2.go, runtime/traceback.go.
const (
	varAllgs, varStates, varReasons = "runtime.allgs", "runtime.gStatusStrings", "runtime.waitReasonStrings"

	structG, structBuf, structStack, structM = "runtime.g", "runtime.gobuf", "runtime.stack", "runtime.m"
)

// errStripped is why the layout is not read out of a program.
var errStripped = errors.New("the program was linked without symbols or DWARF (-ldflags -s or -w), which say where " +
	"the runtime keeps them")

// readLayout finds the layout in the symbols and the DWARF of the program, or in its code where it was linked without.
func (r *Runtime) readLayout(v *view.View) (*layout, error) {
	l, err := readSymbols(r.m, v)
	if errors.Is(err, errStripped) {
		var why error
		if l, why = r.readBare(v); why == nil {
			return l, nil
		}
		err = fmt.Errorf("goroutines cannot be listed: %w, and %w; threads are shown", err, why)
	}
	return l, err
}

// readSymbols finds the layout in m, and reads its words.
func readSymbols(m *module.Module, v *view.View) (*layout, error) {
	vars, err := symbol.Variables(m, varAllgs, varStates, varReasons)
	if err != nil {
		return nil, fmt.Errorf("goroutines cannot be listed: %w", err)
	}
	allgs, ok := vars[varAllgs]
	if !ok {
		return nil, errStripped
	}
	types, err := readTypes(m)
	if err != nil {
		return nil, err
	}
	l := &layout{allgs: m.Addr(allgs.Addr)}
	if err := l.place(types); err != nil {
		return nil, err
	}
	for _, list := range []struct {
		to   *[]string
		name string
	}{{&l.states, varStates}, {&l.reasons, varReasons}} {
		if *list.to, err = readStrings(m, vars[list.name], v); err != nil {
			return nil, fmt.Errorf("goroutines cannot be listed: read %s: %w", list.name, err)
		}
	}
	return l, nil
}

// readTypes reads the structures of the runtime out of the DWARF of m.
func readTypes(m *module.Module) (map[string]dwarf.Struct, error) {
	file := symbol.DebugFileOf(m)
	var types map[string]dwarf.Struct
	err := module.Guard(m.Path, func() error {
		info, done, err := file.Open(".debug_info")
		if err != nil {
			return err
		}
		if info == nil {
			return errStripped
		}
		defer done()
		abbrev, err := file.Contents(".debug_abbrev")
		if err != nil {
			return err
		}
		types, err = dwarf.Structs(info, abbrev, m.Order() == binary.ByteOrder(binary.BigEndian), dwarf.Wanted{
			Unit: "runtime", Names: []string{structG, structBuf, structStack, structM}}, m.Budget())
		return err
	})
	if err != nil && !errors.Is(err, errStripped) {
		err = fmt.Errorf("goroutines cannot be listed: %q: %w", m.Path, err)
	}
	return types, err
}

// maxStruct bounds struct g and struct m, bytes.
const maxStruct = 8 << 10

// field is an offset to find: that of a member of a structure, which is a member of another if inside is not "".
type field struct {
	to           *int
	of, name     string
	inside       string
	size         int
	sinceRelease string // "" if every release has it
}

// place finds the offsets. What a release lacks is -1; without the others it fails.
func (l *layout) place(types map[string]dwarf.Struct) error {
	const word = 8
	g, m := &l.g, &l.m
	err := findFields(types, structG, &g.need, []field{
		{to: &g.low, of: structStack, name: "lo", inside: "stack", size: word},
		{to: &g.high, of: structStack, name: "hi", inside: "stack", size: word},
		{to: &g.sp, of: structBuf, name: "sp", inside: "sched", size: word},
		{to: &g.pc, of: structBuf, name: "pc", inside: "sched", size: word},
		{to: &g.fp, of: structBuf, name: "bp", inside: "sched", size: word},
		{to: &g.lr, of: structBuf, name: "lr", inside: "sched", size: word},
		{to: &g.m, of: structG, name: "m", size: word},
		{to: &g.syscallSP, of: structG, name: "syscallsp", size: word},
		{to: &g.syscallPC, of: structG, name: "syscallpc", size: word},
		{to: &g.syscallFP, of: structG, name: "syscallbp", size: word, sinceRelease: "1.23"},
		{to: &g.state, of: structG, name: "atomicstatus", size: word / 2},
		{to: &g.id, of: structG, name: "goid", size: word},
		{to: &g.since, of: structG, name: "waitsince", size: word},
		{to: &g.reason, of: structG, name: "waitreason", size: 1},
		{to: &g.locked, of: structG, name: "lockedm", size: word},
		{to: &g.creator, of: structG, name: "parentGoid", size: word, sinceRelease: "1.21"},
		{to: &g.createdBy, of: structG, name: "gopc", size: word},
		{to: &g.start, of: structG, name: "startpc", size: word},
	})
	if err != nil {
		return err
	}
	g.waiting = -1
	if at, ok := types[structG].Members["waiting"]; ok && at >= 0 && at <= maxStruct-word {
		g.waiting = int(at)
	}
	return findFields(types, structM, &m.need, []field{
		{to: &m.curg, of: structM, name: "curg", size: word}, {to: &m.procid, of: structM, name: "procid", size: word},
	})
}

// findFields finds the offsets of fields in the structure outer, and how many bytes of it hold them.
func findFields(types map[string]dwarf.Struct, outer string, need *int, fields []field) error {
	for _, f := range fields {
		at, ok := types[f.of].Members[f.name]
		if f.inside != "" {
			base, has := types[outer].Members[f.inside]
			at, ok = at+base, ok && has
		}
		switch {
		case !ok && f.sinceRelease != "":
			*f.to = -1
		case !ok || at < 0 || at > maxStruct-int64(f.size):
			return fmt.Errorf("goroutines cannot be listed: the DWARF of this release has no usable %s.%s", f.of,
				f.name)
		default:
			*f.to = int(at)
			*need = max(*need, int(at)+f.size)
		}
	}
	return nil
}

const (
	maxStrings = 256 // of one list
	maxWord    = 128 // bytes of one
)

// readStrings reads at, an array of strings.
func readStrings(m *module.Module, at symbol.Variable, v *view.View) ([]string, error) {
	n := int(min(at.Size/(2*wordSize), maxStrings))
	if n == 0 {
		return nil, errStripped
	}
	out := make([]string, n)
	for i := range out {
		var err error
		if out[i], err = stringAt(v, m.Addr(at.Addr)+mem.Addr(2*i*wordSize)); err != nil {
			return nil, err
		}
	}
	return out, nil
}

// stringAt reads a string of Go: where its bytes are, and how many.
func stringAt(v *view.View, a mem.Addr) (string, error) {
	f := v.Fields(a)
	at, size := f.Addr(0), f.Word(wordSize)
	switch {
	case f.Err != nil:
		return "", f.Err
	case size == 0:
		return "", nil
	}
	b, ok := v.Bytes(at, int(min(size, maxWord)))
	if !ok {
		return "", v.Fault()
	}
	return string(b), nil
}
