package golang

import (
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/view"
)

// A program that was linked with -s -w has its pclntab still, which names the functions of the runtime: their code
// refers to the variables that no symbol names any more. Which of those a variable is, is told by what it holds. The
// places of fields are those of the release, and what is found by them must be goroutines, or none is listed.

// Functions by whose code variables are found. Source: runtime/proc.go and runtime/traceback.go.
const (
	funcAdd    = "runtime.allgadd"         // allgs, allgptr and allglen
	funcHeader = "runtime.goroutineheader" // gStatusStrings and waitReasonStrings
	funcMain   = "runtime.main"            // of the first goroutine
)

// form is the places of fields in one release, as its DWARF has them: runtime/runtime2.go. -1 is of a field that it
// does not have; all others are needed. What is not here is at the same place in all.
type form struct {
	fp, syscallSP, syscallFP, state, id, since, reason, locked, creator, createdBy, start int // in struct g

	procid, curg int // in struct m
}

var forms = map[string]form{
	"go1.21": {104, 112, -1, 144, 152, 168, 176, 208, 272, 280, 296, 72, 192},
	"go1.22": {104, 112, -1, 144, 152, 168, 176, 208, 272, 280, 296, 72, 192},
	"go1.23": {104, 112, 128, 152, 160, 176, 184, 216, 280, 288, 304, 72, 192},
	"go1.24": {104, 112, 128, 152, 160, 176, 184, 216, 280, 288, 304, 72, 192},
	"go1.25": {96, 104, 120, 144, 152, 168, 176, 208, 272, 280, 296, 64, 184},
	"go1.26": {96, 104, 120, 144, 152, 168, 176, 208, 280, 288, 304, 64, 184},
}

// layout is f as offsets.
func (f form) layout() *layout {
	const g = (gSched + bufSP) * wordSize
	return &layout{
		g: gLayout{need: f.start + wordSize, low: gStackLo * wordSize, high: gStackHi * wordSize, m: gM * wordSize,
			sp: g, pc: g + wordSize, lr: f.fp - wordSize, fp: f.fp, syscallSP: f.syscallSP,
			syscallPC: f.syscallSP + wordSize, syscallFP: f.syscallFP, state: f.state, id: f.id, since: f.since,
			reason: f.reason, locked: f.locked, creator: f.creator, createdBy: f.createdBy, start: f.start,
			waiting: f.start + 2*wordSize},
		m: mLayout{need: max(f.curg, f.procid) + wordSize, curg: f.curg, procid: f.procid},
	}
}

// readBare finds the layout in a program without symbols or DWARF.
func (r *Runtime) readBare(v *view.View) (*layout, error) {
	if r.port == nil {
		return nil, errors.New("where else it says so is known on amd64 and arm64 alone")
	}
	release := releaseOf(r.m)
	known, ok := forms[release]
	switch {
	case release == "":
		return nil, errors.New("the release of Go, which would tell their form, is not in the file")
	case !ok:
		return nil, fmt.Errorf("their form in release %q is not known", release)
	}
	l := known.layout()
	var err error
	if l.allgs, err = r.findAllgs(v); err != nil {
		return nil, err
	}
	if l.states, err = r.findStrings(v, "idle", "runnable", "running", "syscall", "waiting"); err != nil {
		return nil, err
	}
	if l.reasons, err = r.findStrings(v, "", "GC assist marking"); err != nil {
		return nil, err
	}
	for range tries {
		if err = r.prove(l, v); err == nil {
			return l, nil
		}
	}
	return nil, err
}

// tries is how often what the process changes meanwhile is looked at.
const tries = 5

// releaseOf is the release of Go that made m, "go1.26", "" if it does not say so.
// Source: "Format" in debug/buildinfo of the Go distribution.
func releaseOf(m *module.Module) string {
	const header, inline = 32, 2
	_, b, ok := m.Plain(".go.buildinfo")
	if !ok || len(b) < header || !strings.HasPrefix(string(b[:header]), "\xff Go buildinf:") || b[15]&inline == 0 {
		return ""
	}
	size, n := binary.Uvarint(b[header:])
	if n <= 0 || size > maxWord || uint64(len(b)-header-n) < size {
		return ""
	}
	parts := strings.SplitN(string(b[header+n:][:size]), ".", 3)
	if len(parts) < 2 {
		return ""
	}
	minor := strings.TrimLeft(parts[1], "0123456789")
	return parts[0] + "." + strings.TrimSuffix(parts[1], minor)
}

// refersTo lists the addresses that the code of a function refers to from where it is, ascending: each that may be one.
func (r *Runtime) refersTo(name string) ([]mem.Addr, error) {
	code, at, err := r.codeOf(name)
	if err != nil {
		return nil, err
	}
	out := r.port.refers(code, at)
	slices.Sort(out)
	return slices.Compact(out), nil
}

// findAllgs finds runtime.allgs: of what its function refers to three words in a row are a slice, of which one variable
// has the address and another one the length.
func (r *Runtime) findAllgs(v *view.View) (mem.Addr, error) {
	refers, err := r.refersTo(funcAdd)
	if err != nil {
		return 0, err
	}
	for range tries {
		for _, a := range refers {
			var slice words
			if !slices.Contains(refers, a+wordSize) || !slices.Contains(refers, a+2*wordSize) ||
				slice.read(v, uint64(a), 3) != nil || slice[1] == 0 || slice[1] > slice[2] {
				continue
			}
			others := 0
			for _, o := range refers {
				if w, err := v.Word(o); err == nil && (o < a || o > a+2*wordSize) && (w == slice[0] || w == slice[1]) {
					others++
				}
			}
			if others == 2 {
				return a, nil
			}
		}
	}
	return 0, fmt.Errorf("nothing that %s refers to is their list", funcAdd)
}

// findStrings finds the array of strings that begins with those, among what the head of a traceback is made of. Its end
// is not known: what follows there is no string, or has no number that a goroutine has.
func (r *Runtime) findStrings(v *view.View, first ...string) ([]string, error) {
	refers, err := r.refersTo(funcHeader)
	if err != nil {
		return nil, err
	}
	for _, a := range refers {
		all, err := r.stringsAt(v, a, first)
		if err != nil || all != nil {
			return all, err
		}
	}
	return nil, fmt.Errorf("nothing that %s refers to is the names of their states", funcHeader)
}

// stringsAt reads the strings at a, nil if they do not begin as the first do. They end where a word is no address in
// the program; a read that fails is no end.
func (r *Runtime) stringsAt(v *view.View, a mem.Addr, first []string) (all []string, err error) {
	for i := range maxStrings {
		f := v.Fields(a + mem.Addr(2*i*wordSize))
		at, size := f.Addr(0), f.Word(wordSize)
		isString := size == 0 || size <= maxWord && at >= r.m.Start() && at < r.m.End()
		var b []byte
		if f.Err == nil && isString {
			b, _ = v.Bytes(at, int(size))
		}
		switch {
		case i < len(first) && string(b) != first[i]:
			return nil, nil
		case f.Err != nil || isString && len(b) != int(size):
			return nil, v.Fault()
		case !isString || bytes.ContainsFunc(b, isOdd):
			return all, nil
		}
		all = append(all, string(b))
	}
	return all, nil
}

// isOdd reports whether c is in no name of a state.
func isOdd(c rune) bool { return c < ' ' || c > '~' }

// prove checks that what the layout shows are goroutines, as far as it can be seen while the process runs.
func (r *Runtime) prove(l *layout, v *view.View) error {
	const most = 256 // are looked at
	var list words
	if err := list.read(v, uint64(l.allgs), 2); err != nil {
		return err
	}
	ids := map[uint64]bool{}
	g := goroutine{l, make([]byte, l.g.need)}
	for i := range min(list[1], most) {
		at, err := v.Word(mem.Addr(list[0] + i*wordSize))
		if err != nil {
			return err
		}
		if _, err := v.ReadMem(g.b, mem.Addr(at)); err != nil {
			return err
		}
		if !isLive(g.state()) {
			continue
		}
		id := g.word(l.g.id)
		if err := r.proveOne(g, at, i == 0, v); err != nil || ids[id] {
			return fmt.Errorf("what is found at %#x is no goroutine of %s", at, releaseOf(r.m))
		}
		ids[id] = true
	}
	if !ids[1] {
		return errors.New("the first goroutine is not among what is found")
	}
	return nil
}

var errNone = errors.New("it is no goroutine")

// proveOne checks one of them: the state has a name, the stack is one, the saved registers say whose they are, code was
// called there, and the thread that runs it says so too.
func (r *Runtime) proveOne(g goroutine, at uint64, first bool, v *view.View) error {
	l := g.l
	low, high, sp := g.word(l.g.low), g.word(l.g.high), g.word(l.g.sp)
	size, state := high-low, g.state()
	const least = 2 << 10
	self, started := g.word(l.g.pc+wordSize), r.name(mem.Addr(g.word(l.g.start)))
	switch {
	case int(state) >= len(l.states) || l.states[state] == "" || g.word(l.g.id) == 0,
		low >= high || size < least || size&(size-1) != 0,
		self != at || started == "" || first != (started == funcMain),
		!first && r.name(mem.Addr(g.word(l.g.createdBy))-1) == "",
		state == stateWaiting && (sp <= low || sp >= high || r.name(mem.Addr(g.word(l.g.pc))) == ""),
		state == stateWaiting && int(g.b[l.g.reason]) >= len(l.reasons):
		return errNone
	}
	m := g.word(l.g.m)
	if m == 0 || state != stateRunning && state != stateSyscall {
		return nil
	}
	var of words
	curg, err := v.Word(mem.Addr(m) + mem.Addr(l.m.curg))
	procid, err2 := v.Word(mem.Addr(m) + mem.Addr(l.m.procid))
	if err := errors.Join(err, err2, of.read(v, m, mG0+1)); err != nil {
		return err
	}
	if g0 := of[mG0]; curg != at || procid == 0 || procid >= 1<<32 || of.read(v, g0, gWords) != nil || of[gM] != m {
		return errNone
	}
	return nil
}
