// Package golang knows how the runtime of Go programs goes from one stack to another, which no table says.
//
// A thread that runs Go has a system stack beside the stack of its goroutine. What leads back from one to the other
// is in the structures g and m of the runtime: [Runtime.Copy] copies them while the thread is stopped, with the stack
// of the goroutine, and [Runtime.Cross] goes that way. Rows of Go code come from its pclntab, as tables of the walk.
//
// Sources: runtime/runtime2.go, runtime/asm_*.s and cmd/compile/abi-internal.md of the Go distribution.
package golang

import (
	"errors"
	"sync/atomic"

	"github.com/fpstack/fpstack/code/pclntab"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/work"
)

// Runtime is the Go runtime in one module of one process. Copy may be called beside the goroutine that walks.
type Runtime struct {
	m      *module.Module
	table  *pclntab.Table
	region unwind.Region
	tls    int64      // where a thread keeps the address of its g, from its thread pointer; 0 where that is not known
	memory mem.Reader // of the process, for what does not change; nil if there is none
	budget *work.Budget
	port   *port   // nil on a machine that is not known
	layout *layout // of its goroutines, nil before OpenFibers
	room   int     // bytes that these take to copy
	// curg is the number of the word of struct m that has its goroutine, 0 until it was seen.
	curg atomic.Int32
}

// New returns the Runtime of a module of image that holds Go code, nil if it does not. An error says that it does, and
// that its tables cannot be read.
func New(m *module.Module, image module.Image) (*Runtime, error) {
	t, err := pclntab.Open(m.Plain, m.Budget())
	switch {
	case errors.Is(err, pclntab.ErrNone):
		return nil, nil
	case err != nil:
		return nil, err
	}
	r := &Runtime{m: m, table: t, memory: image.Memory, budget: image.Budget, port: ports[m.Machine()]}
	low, high := t.Bounds()
	r.region = unwind.Region{Start: m.Addr(module.Vaddr(low)), End: m.Addr(module.Vaddr(high))}
	r.tls = r.tlsOffset()
	return r, nil
}

// String names the runtime in messages.
func (r *Runtime) String() string { return "Go" }

// Region implements [unwind.Runtime].
func (r *Runtime) Region(pc mem.Addr) (unwind.Region, bool) {
	return r.region, pc >= r.region.Start && pc < r.region.End
}

// name is the Go function that holds a, "" if none does.
func (r *Runtime) name(a mem.Addr) string {
	if _, ok := r.Region(a); !ok {
		return ""
	}
	f, _ := r.table.Func(uint64(r.m.Vaddr(a)))
	return f.Name()
}

var _ interface {
	unwind.Crosser
	unwind.Waypointer
	unwind.Idler
	snapshot.Copier
	snapshot.ProcessCopier
} = (*Runtime)(nil)
