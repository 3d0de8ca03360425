package coreclr

import (
	"debug/elf"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/regs"
	"github.com/fpstack/fpstack/unwind/cfi"
	"github.com/fpstack/fpstack/vm/coreclr/unwindcode"
	"github.com/fpstack/fpstack/vm/view"
)

// port is what the runtime has of its own on one machine: how compilers say how code is unwound, and code of the
// runtime itself.
type port struct {
	arch *regs.Arch
	// functionSize is how many bytes a RUNTIME_FUNCTION has; function reads one.
	functionSize int
	function     func(b []byte) unwindcode.Function
	// sized sets where f ends by the head of its unwind information; nil where a RUNTIME_FUNCTION says that itself.
	sized func(f *unwindcode.Function, head []byte) error
	// infoSize is how many bytes the unwind information has that begins with head, of headSize bytes: maxInfo at most.
	headSize, maxInfo int
	infoSize          func(head []byte) int
	// row is the row at place at of c, bytes from its beginning.
	row func(r *Runtime, c *code, at uint32, interrupted bool) (*cfi.Row, error)
	// stub is the row at an interrupted place of the runtime between methods.
	stub func(r *Runtime, pc mem.Addr) (*cfi.Row, error)
	// trip finds the function that stops threads, if it is that which holds code[at], and where it begins; nil if it is
	// another one.
	trip func(code []byte, at int) (t *trip, begin int)
	// moved sets what tables of offsets, which are those of x86-64, have elsewhere; nil for nothing.
	moved func(l *layout, major int)
}

// portOf is that of an object's machine, nil for one that is not known.
func portOf(m *module.Module) *port {
	switch elf.Machine(m.Machine()) {
	case elf.EM_X86_64:
		return &onAMD64
	case elf.EM_AARCH64:
		return &onARM64
	}
	return nil
}

// holding is that one of functions, of which list has the entries, which begins last of those that begin at rel or
// before it; false if none does. Where it ends may not be known yet.
func (p *port) holding(list []byte, rel uint64) (f unwindcode.Function, found bool) {
	for ; len(list) >= p.functionSize; list = list[p.functionSize:] {
		if x := p.function(list); uint64(x.Begin) <= rel && (!found || x.Begin >= f.Begin) {
			f, found = x, true
		}
	}
	return f, found
}

// end sets where f ends, if it does not say so itself: by its unwind information, which v has, base being where it is
// counted from.
func (p *port) end(v *view.View, base mem.Addr, f *unwindcode.Function) error {
	if p.sized == nil {
		return nil
	}
	head, ok := v.Bytes(base+mem.Addr(f.Info), p.headSize)
	if !ok {
		return v.Fault()
	}
	return p.sized(f, head)
}
