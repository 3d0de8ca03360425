package symbol

import (
	"bytes"

	"github.com/fpstack/fpstack/work"
)

// better says that a names an address better than b, both of which start there and are valid for
// it. No two tools agree on the alias they show, so the rule is our own: it puts the name
// that people call first, and does not depend on the order of the table.
//
//  1. .symtab before .dynsym
//  2. functions before labels without a type
//  3. global and weak before local
//  4. not __GI_ (glibc's name for its own use), then fewest leading underscores
//  5. global before weak: behind 4, because in glibc poll is weak and __poll global
//  6. default version before others
//  7. shortest, then alphabetic
//
// Names are long where they are hostile: to compare them takes from left, and is not done when
// nothing is left there. Then the answer is of no use.
func better(a, b *entry, left *work.Purse) bool {
	if a.table != b.table {
		return a.table.rank < b.table.rank
	}
	if x, y := typeRank(a.info), typeRank(b.info); x != y {
		return x < y
	}
	x, y := bindRank(a.info), bindRank(b.info)
	if (x == local) != (y == local) {
		return y == local
	}
	an, av := splitVersion(a)
	bn, bv := splitVersion(b)
	if !left.Spend(int64(len(an)+len(bn)) / bytesAStep) {
		return false
	}
	if p, q := underscores(an), underscores(bn); p != q {
		return p < q
	}
	if x != y {
		return x < y
	}
	if av != bv {
		return av < bv
	}
	if len(an) != len(bn) {
		return len(an) < len(bn)
	}
	return bytes.Compare(an, bn) < 0
}

// bytesAStep is how many bytes of a name are searched or compared in one step of a [work.Budget].
const bytesAStep = 4

func typeRank(info uint8) int {
	if info&0xf == sttNotype {
		return 1
	}
	return 0
}

// local is the rank of all bindings that are neither global nor weak.
const local = 2

func bindRank(info uint8) int {
	switch info >> 4 {
	case stbGlobal, stbUnique:
		return 0
	case stbWeak:
		return 1
	}
	return local
}

// underscores orders names by how internal they look; names that cannot be shown come last.
func underscores(name []byte) int {
	if len(name) == 0 {
		return maxName + 1
	}
	n := 0
	for n < len(name) && name[n] == '_' {
		n++
	}
	if bytes.HasPrefix(name, []byte("__GI_")) {
		n += maxName / 2
	}
	return n
}

// splitVersion returns the name without "@VERSION" and 0 for a default or no version, 1 for
// another. .dynsym keeps versions apart, in .symtab they are part of the name.
func splitVersion(e *entry) (name []byte, version int) {
	name = e.nameBytes()
	if e.hidden() {
		version = 1
	}
	i := bytes.IndexByte(name, '@')
	if i <= 0 {
		return name, version
	}
	if i+1 < len(name) && name[i+1] != '@' {
		version = 1
	}
	return name[:i], version
}

// unusable says that a name is a mark of the assembler and not one of a function: mapping
// symbols of ARM ("$x", "$d.1") and local labels.
func unusable(name []byte) bool {
	return len(name) == 0 || name[0] == '$' || bytes.HasPrefix(name, []byte(".L"))
}

// symbol is what others see of e, nil if it has no name. end is where it stops being valid.
func (e *entry) symbol(end uint64) *Symbol {
	name, _ := splitVersion(e)
	if unusable(name) {
		return nil
	}
	return &Symbol{Name: string(name), Start: vaddr(e.start), End: vaddr(end), Sized: e.size != 0,
		Typed: e.info&0xf != sttNotype}
}
