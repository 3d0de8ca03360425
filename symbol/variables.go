package symbol

import (
	"fmt"

	"github.com/fpstack/fpstack/maps/module"
)

// Variable is a symbol of data.
type Variable struct {
	Addr module.Vaddr
	Size uint64
}

// Variables finds data by the names of its symbols in .symtab of m alone. What has several symbols of one name has the
// first. It returns those that there are; the error says that the table could not be read whole.
func Variables(m *module.Module, names ...string) (map[string]Variable, error) {
	out := map[string]Variable{}
	if m.Err != nil {
		return nil, m.Err
	}
	err := module.Guard(m.Path, func() error {
		t := newTable(m, ".symtab", 0)
		if t == nil {
			return nil
		}
		wanted := make(map[string]bool, len(names))
		longest := 0
		for _, name := range names {
			wanted[name] = true
			longest = max(longest, len(name))
		}
		left := m.Budget().Purse()
		for i := range t.count() {
			if !left.Spend(int64(t.size)) {
				return fmt.Errorf("read .symtab of %q: %w", m.Path, m.Budget().Refusal())
			}
			name, v, ok := t.variable(i, longest)
			if !ok || !wanted[string(name)] {
				continue
			}
			if _, known := out[string(name)]; !known {
				out[string(name)] = v
			}
			if len(out) == len(wanted) {
				return nil
			}
		}
		return t.err
	})
	return out, err
}

// variable reads symbol i if it is one of data, with a name of at most longest bytes.
// Source: System V gABI chapter 4, Symbol Table.
func (t *rawTable) variable(i, longest int) (name []byte, v Variable, ok bool) {
	const object = 1 // STT_OBJECT
	b := t.data[i*t.size : (i+1)*t.size]
	info, section, value, size := b[12], t.u16(b[14:]), uint64(t.u32(b[4:])), uint64(t.u32(b[8:]))
	if t.wide {
		info, section, value, size = b[4], t.u16(b[6:]), t.u64(b[8:]), t.u64(b[16:])
	}
	at := uint64(t.u32(b))
	if info&0xf != object || section == 0 || at >= uint64(len(t.strings)) {
		return nil, v, false
	}
	rest := t.strings[at:min(uint64(len(t.strings)), at+uint64(longest)+1)]
	for n, c := range rest {
		if c == 0 {
			return rest[:n], Variable{module.Vaddr(value), size}, n > 0
		}
	}
	return nil, v, false
}
