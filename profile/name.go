package profile

import (
	"strconv"
	"strings"
)

// Function is what distinguishes functions: frames of one Function are one function to every table, picture and
// comparison, whatever module, file and line they lie in. Two builds of a program, and one loaded from two places,
// have their functions in common.
type Function struct {
	Name  string // see [Profile.Name]
	Waits bool   // no code, but what a thread waits in ([Frame.Waits]): libc's poll and the system call poll are two
}

// String is the name, and of a wait that it is one.
func (fn Function) String() string {
	if fn.Waits {
		return fn.Name + " (waits)"
	}
	return fn.Name
}

// Function returns the function that frame f is of.
func (p *Profile) Function(f FrameID) Function {
	return Function{p.Name(f), p.Frames[f].Waits()}
}

// Name returns what frame f is called where one name has to do: its function, else the last
// element of its module's path and the address of its function as linked there ([Frame.Entry]), as "libx.so.1+0x123",
// else its address, else "?".
func (p *Profile) Name(f FrameID) string {
	fr := &p.Frames[f]
	switch {
	case fr.Func != "":
		return fr.Func
	case fr.Module >= 0 && fr.Module < len(p.Modules):
		return p.Modules[fr.Module].Name() + "+0x" + strconv.FormatUint(fr.Entry(), 16)
	case fr.Addr != 0:
		return "0x" + strconv.FormatUint(fr.Addr, 16)
	}
	return "?"
}

// Name returns the last element of m's path, "?" if there is none.
func (m *Module) Name() string {
	name := m.Path[strings.LastIndexByte(m.Path, '/')+1:]
	if name == "" {
		return "?"
	}
	return name
}

const jitBefore, jitAfter = "[jit ", "]"

// JITName is Func of a Frame in code that a process made and that nobody names: "[jit NAME]" by the name of the
// mapping, "[jit 0xSTART]" where that is "".
func JITName(mapping string, start uint64) string {
	if mapping == "" {
		mapping = "0x" + strconv.FormatUint(start, 16)
	}
	return jitBefore + mapping + jitAfter
}

// JITMapping is what [JITName] made of a mapping, without the brackets' end, if Func of f is that.
func (f *Frame) JITMapping() (begin string, ok bool) {
	if f.Kind != Unknown || !strings.HasPrefix(f.Func, jitBefore) {
		return "", false
	}
	return strings.CutSuffix(f.Func, jitAfter)
}

// Functions numbers the functions of p: of[f] is the number of frame f's, first[i] the first frame of function i.
func (p *Profile) Functions() (of []uint32, first []FrameID) {
	ids := make(map[Function]uint32, len(p.Frames))
	of = make([]uint32, len(p.Frames))
	for f := range p.Frames {
		fn := p.Function(FrameID(f))
		id, ok := ids[fn]
		if !ok {
			id = uint32(len(first))
			ids[fn] = id
			first = append(first, FrameID(f))
		}
		of[f] = id
	}
	return of, first
}
