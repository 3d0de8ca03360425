package symbol

import (
	"bytes"
	"strings"

	"github.com/fpstack/fpstack/maps/module"
)

// Each gives yield the name, value and size of each symbol that m defines in its table label, ".symtab" or ".dynsym",
// data and labels too, until it returns false. The name is valid during the call. It gives none where there is no such
// table, and fails if the table is not whole or must not be read (see [module.Module.Budget]).
func Each(m *module.Module, label string, yield func(name []byte, value module.Vaddr, size uint64) bool) error {
	return module.Guard(m.Path, func() error {
		t := newTable(m, label, 0)
		if t == nil || !t.wide {
			return nil
		}
		b := m.Budget()
		if !b.Spend(int64(len(t.data))) {
			return b.Refusal()
		}
		for i := range t.count() {
			t.done(i)
			s := t.data[i*t.size:]
			const shndx, value, size = 6, 8, 16 // Elf64_Sym in elf(5)
			if t.u16(s[shndx:]) == shnUndef {
				continue
			}
			e := entry{index: uint32(i), table: t}
			if !yield(e.nameBytes(), module.Vaddr(t.u64(s[value:])), t.u64(s[size:])) {
				return t.err
			}
		}
		t.done(t.count())
		return t.err
	})
}

// MayDefine reports whether a symbol of m in its table label may have one of those names: whether the strings of the
// table hold it. It takes a small part of the time of [Each].
func MayDefine(m *module.Module, label string, names ...string) (may bool) {
	err := module.Guard(m.Path, func() error {
		t := newTable(m, label, 0)
		may = t != nil && (t.err != nil || t.contains(names))
		return nil
	})
	return may || err != nil
}

// contains reports whether the strings of t hold one of names. They are gone through once: reading them takes longer.
func (t *rawTable) contains(names []string) bool {
	const piece, most = 1 << 20, 4 << 10
	// From the middle: first come names of files, which have dots where mangled names have none.
	sample := t.strings[len(t.strings)/2:]
	sample = sample[:min(most, len(sample))]
	longest := 1
	rare := map[byte][]string{} // the names whose rarest byte it is
	for _, name := range names {
		c := rarest(sample, name)
		rare[c] = append(rare[c], name)
		longest = max(longest, len(name))
	}
	for at := 0; at < len(t.strings); at += piece {
		for c, names := range rare {
			if containsBy(t.strings[at:min(at+piece+longest-1, len(t.strings))], c, names) {
				return true
			}
		}
		if len(t.strings) > piece {
			t.forget(t.strings[at:min(at+piece, len(t.strings))])
		}
	}
	return false
}

// rarest is the byte of name that sample has least often.
func rarest(sample []byte, name string) (rare byte) {
	least := len(sample) + 1
	for i := range len(name) {
		if n := bytes.Count(sample, []byte{name[i]}); n < least {
			rare, least = name[i], n
		}
	}
	return rare
}

// containsBy reports whether b holds one of names, which all have the byte c. It goes from one c to the next, which is
// what it takes: names begin with an underscore mostly, as each twentieth byte of such strings is one.
func containsBy(b []byte, c byte, names []string) bool {
	for at := 0; at < len(b); at++ {
		next := bytes.IndexByte(b[at:], c)
		if next < 0 {
			return false
		}
		at += next
		for _, name := range names {
			start := at - strings.IndexByte(name, c)
			if start >= 0 && len(b)-start >= len(name) && string(b[start:start+len(name)]) == name {
				return true
			}
		}
	}
	return false
}
