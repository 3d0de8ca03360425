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

// Large finds the variable of a name in .symtab of m among those that can be written and have at least so many bytes:
// few are, and of the others no name is read, which are most of a table. It is false if there is none, or the table
// could not be read.
func Large(m *module.Module, name string, least uint64) (v Variable, ok bool) {
	err := module.Guard(m.Path, func() error {
		t := newTable(m, ".symtab", 0)
		if t == nil || !m.Budget().Spend(int64(len(t.data))/bytesAStep) {
			return nil
		}
		writable := loaded(m, module.PFW)
		for from := 0; from < t.count() && !ok; from += piece {
			upto := min(from+piece, t.count())
			for i := from; i < upto && !ok; i++ {
				if t.kind(i) != sttObject {
					continue
				}
				if of, defined := t.object(i); !defined || of.Size < least {
					continue
				} else if _, may := writable.Find(uint64(of.Addr)); !may {
					continue
				}
				var found []byte
				found, v, ok = t.variable(i, len(name))
				ok = ok && string(found) == name
			}
			t.done(upto)
		}
		return nil
	})
	if !ok || err != nil {
		return Variable{}, false
	}
	return v, true
}

// variable reads symbol i if it is one of data, with a name of at most longest bytes.
// Source: System V gABI chapter 4, Symbol Table.
func (t *rawTable) variable(i, longest int) (name []byte, v Variable, ok bool) {
	v, ok = t.object(i)
	at := uint64(t.u32(t.data[i*t.size:]))
	if !ok || at >= uint64(len(t.strings)) {
		return nil, v, false
	}
	rest := t.strings[at:min(uint64(len(t.strings)), at+uint64(longest)+1)]
	for n, c := range rest {
		if c == 0 {
			return rest[:n], v, n > 0
		}
	}
	return nil, v, false
}

// object is where symbol i is, if it is one of data that the file defines.
func (t *rawTable) object(i int) (v Variable, ok bool) {
	b := t.data[i*t.size : (i+1)*t.size]
	if t.wide {
		v = Variable{module.Vaddr(t.u64(b[8:])), t.u64(b[16:])}
		return v, b[4]&0xf == sttObject && t.u16(b[6:]) != shnUndef
	}
	v = Variable{module.Vaddr(t.u32(b[4:])), uint64(t.u32(b[8:]))}
	return v, b[12]&0xf == sttObject && t.u16(b[14:]) != shnUndef
}
