package symbol

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/maps/module"
)

// indexAfter is the number of passes over the tables after which they are sorted instead: one
// dump needs one or two, a sampler many.
const indexAfter = 2

// maxKnown bounds the answers that a Table keeps. A recording asks for some thousand addresses of a
// module.
const maxKnown = 1 << 16

// Table is the symbols of one module. It reads nothing until it is asked. It is for one
// goroutine at a time.
type Table struct {
	m      *module.Module
	opened bool
	symtab *rawTable
	dynsym *rawTable
	// elsewhere finds a .symtab for a module without one, nil if there is none; it may be nil.
	elsewhere func() *rawTable
	err       error

	known  map[module.Vaddr]*Symbol // answers so far, at most maxKnown; nil value: none
	passes int
	index  *index
}

// New returns the symbols of m.
func New(m *module.Module) *Table {
	return &Table{m: m, known: map[module.Vaddr]*Symbol{}}
}

// Lookup names addresses: result i belongs to addrs[i] and is nil where no symbol is valid.
// .symtab is believed before .dynsym. The symbols are shared and must not be changed.
//
// The error says why symbols may be missing; the results that could be had come with it.
func (t *Table) Lookup(addrs []module.Vaddr) ([]*Symbol, error) {
	t.open()
	out := make([]*Symbol, len(addrs))
	var missing []module.Vaddr
	var places []int // of missing in addrs
	for i, v := range addrs {
		y, ok := t.known[v]
		if out[i] = y; !ok {
			missing, places = append(missing, v), append(places, i)
		}
	}
	if len(missing) == 0 {
		return out, t.err
	}
	found := make([]*Symbol, len(missing))
	err := errors.Join(t.err, module.Guard(t.m.Path, func() error {
		return t.find(found, missing)
	}))
	for i, at := range places {
		out[at] = found[i]
	}
	return out, err
}

// Bounds returns the addresses [start, end) of the function that holds v. A label without size and
// type does not count: it may be in the middle of a function.
func (t *Table) Bounds(v module.Vaddr) (start, end module.Vaddr, ok bool) {
	s, _ := t.Lookup([]module.Vaddr{v})
	if s[0] == nil || !s[0].Sized && !s[0].Typed {
		return 0, 0, false
	}
	return s[0].Start, s[0].End, true
}

func (t *Table) open() {
	if t.opened {
		return
	}
	t.opened = true
	if t.m.Err != nil {
		t.err = t.m.Err
		return
	}
	if t.symtab = tableOf(t.m); t.symtab == nil && t.elsewhere != nil {
		t.symtab = t.elsewhere()
	}
	t.dynsym = newTable(t.m, ".dynsym", 1)
	for _, raw := range []*rawTable{t.symtab, t.dynsym} {
		if raw != nil {
			t.err = errors.Join(t.err, raw.err)
		}
	}
}

// find sets found[i] to the symbol of addrs[i], and remembers it. Where not all symbols can be looked
// at there is no answer: a nearer one may be among the others.
func (t *Table) find(found []*Symbol, addrs []module.Vaddr) error {
	if t.index == nil && t.passes == indexAfter {
		t.index = newIndex(t.m.Budget(), t.symtab, t.dynsym)
	}
	var name func(module.Vaddr) *Symbol
	if t.index != nil {
		name = t.index.find
	} else {
		p := t.pass(addrs)
		if p.cut() {
			return fmt.Errorf("symbols of %q not read: %w", t.m.Path, t.m.Budget().Refusal())
		}
		name = p.answer
	}
	for i, v := range addrs {
		found[i] = name(v)
		if len(t.known) >= maxKnown {
			clear(t.known)
		}
		t.known[v] = found[i]
	}
	return nil
}

// pass goes once over the tables for all of addrs.
func (t *Table) pass(addrs []module.Vaddr) *pass {
	t.passes++
	p := newPass(addrs, t.m.Budget())
	if t.symtab != nil {
		p.scan(t.symtab)
	}
	if t.dynsym != nil && !p.settled() {
		p.scan(t.dynsym)
	}
	p.spread()
	return p
}
