package unwind

import (
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
)

// CallNumber returns the number of the system call that t is in, as the code before its PC loads it: a
// call that goes on after a stop shows as restart_syscall, but its code is what it was. It reports false where
// the code does not prove a number.
func (w *Walker) CallNumber(t *snapshot.Thread, memory mem.Reader) (number int64, ok bool) {
	if t.Syscall == nil || t.Syscall.PC == 0 || t.Arch == nil || !hasCode(t.Arch) {
		return 0, false
	}
	c := &cursor{w: w, arch: t.Arch, view: view{memory: memory}}
	f := &Frame{PC: t.Syscall.PC}
	err := module.Guard("code", func() error {
		f.Module = w.modules.Find(f.LookupPC())
		code, bias, found := c.codeAt(f.LookupPC(), f.Module)
		if !found {
			return nil
		}
		for _, bounds := range []func(*Frame, uint64) (uint64, uint64, bool){c.entryBounds, c.bounds} {
			start, end, known := bounds(f, bias)
			if !known {
				continue
			}
			if number, ok = code.CallNumber(start, end, uint64(f.PC)-bias); ok {
				break
			}
		}
		return nil
	})
	return number, ok && err == nil
}
