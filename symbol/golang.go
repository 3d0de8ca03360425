package symbol

import (
	"errors"
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/code/pclntab"
	"github.com/fpstack/fpstack/maps/module"
)

// goSource names Go code by its pclntab. It is opened when first asked.
type goSource struct {
	m      *module.Module
	opened bool
	table  *pclntab.Table // nil if the module holds no Go code
	err    error
}

// open reads the header of the table. An error about inlined calls alone leaves the table usable.
func (g *goSource) open() (*pclntab.Table, error) {
	if g.opened {
		return g.table, g.err
	}
	g.opened = true
	t, err := pclntab.Open(g.m.Plain, g.m.Budget())
	g.table = t
	if err == nil {
		err = t.InlineErr()
	}
	if err != nil && !errors.Is(err, pclntab.ErrNone) {
		g.err = fmt.Errorf("%q: %w", g.m.Path, err)
	}
	return g.table, g.err
}

// Calls implements [DebugInfo].
func (g *goSource) Calls(addrs []module.Vaddr) ([][]Call, error) {
	t, err := g.open()
	out := make([][]Call, len(addrs))
	if t == nil {
		return out, err
	}
	for i, v := range addrs {
		f, ok := t.Func(uint64(v))
		if !ok {
			continue
		}
		frames := f.Frames(uint64(v))
		calls := make([]Call, len(frames))
		for j, fr := range frames {
			calls[j] = Call{Func: goName(fr.Func), Linkage: fr.Func, File: fr.File, Line: fr.Line}
		}
		last := &calls[len(calls)-1]
		last.Start, last.HasStart = module.Vaddr(f.Entry), true
		out[i] = calls
	}
	return out, err
}

// bounds returns the addresses of the Go function that holds v.
func (g *goSource) bounds(v module.Vaddr) (start, end module.Vaddr, ok bool) {
	t, _ := g.open()
	f, ok := t.Func(uint64(v))
	return module.Vaddr(f.Entry), module.Vaddr(f.End), ok
}

// goName writes a name as Go's own tracebacks do: the type arguments of a generic function are
// shapes that nobody wrote, and become "[...]".
func goName(name string) string {
	i, j := strings.IndexByte(name, '['), strings.LastIndexByte(name, ']')
	if i < 0 || j <= i {
		return name
	}
	return name[:i] + "[...]" + name[j+1:]
}
