package symbol

import (
	"errors"

	"github.com/fpstack/fpstack/maps/module"
)

// indexAfter is the number of passes over the tables after which they are sorted instead: one
// dump needs one or two, a sampler many.
const indexAfter = 2

// Table is the symbols of one module. It reads nothing until it is asked. It is for one
// goroutine at a time.
type Table struct {
	m      *module.Module
	opened bool
	symtab *rawTable
	dynsym *rawTable
	err    error

	known  map[module.Vaddr]*Symbol // answers so far; nil value: none
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
	for _, v := range addrs {
		if _, ok := t.known[v]; !ok {
			missing = append(missing, v)
		}
	}
	err := t.err
	if len(missing) > 0 {
		err = errors.Join(err, module.Guard(t.m.Path, func() error {
			t.find(missing)
			return nil
		}))
	}
	for i, v := range addrs {
		out[i] = t.known[v]
	}
	return out, err
}

// Bounds returns the addresses [start, end) of the function that holds v. A label without size and
// type does not count: it may stand in the middle of a function.
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
	t.symtab = newTable(t.m, ".symtab", 0)
	t.dynsym = newTable(t.m, ".dynsym", 1)
	for _, raw := range []*rawTable{t.symtab, t.dynsym} {
		if raw != nil {
			t.err = errors.Join(t.err, raw.err)
		}
	}
}

// find fills known for addrs.
func (t *Table) find(addrs []module.Vaddr) {
	if t.index == nil && t.passes >= indexAfter {
		t.index = newIndex(t.symtab, t.dynsym)
	}
	if t.index != nil {
		for _, v := range addrs {
			t.known[v] = t.index.find(v)
		}
		return
	}
	t.passes++
	p := newPass(addrs)
	if t.symtab != nil {
		p.scan(t.symtab)
	}
	if t.dynsym != nil && !p.settled() {
		p.scan(t.dynsym)
	}
	p.spread()
	for _, v := range addrs {
		t.known[v] = p.answer(v)
	}
}
