package wasmtime

import (
	"encoding/binary"
	"sort"
	"strings"

	"github.com/fpstack/fpstack/mem"
)

// fullNames are the names of functions as the module has them: .name.wasm has the bytes of all, one behind the other.
// Which function has which is in .wasmtime.info, of which the layout changes from version to version; the table of
// names is found there by what it is: a count, then as many of (index, offset, length) in which the index rises, each
// name begins where the one before ends, and the last ends with the section. Up to v20 count and fields have 8 and 4
// bytes, later they are LEB128 numbers (postcard). The module of several in an image is not told: names are used only
// of an image with one.
type fullNames struct {
	at    mem.Addr // where bytes are in memory
	bytes []byte
	names []nameRange // by index
}

type nameRange struct{ index, offset, size uint32 }

// all is the bytes of all names, nil for none.
func (n *fullNames) all() []byte {
	if n == nil {
		return nil
	}
	return n.bytes
}

// newFullNames returns the names, which lie at that address; nil where no table of them is found.
func newFullNames(at mem.Addr, names, info []byte) *fullNames {
	const work = 1 << 22 // steps: fields that are read
	left := work
	for i := range info {
		for _, read := range []reader{readFixed, readVarint} {
			if table := nameTable(info[i:], uint32(len(names)), read, &left); table != nil {
				return &fullNames{at, names, table}
			}
			if left <= 0 {
				return nil
			}
		}
	}
	return nil
}

// reader reads a number of so many bytes where it is of fixed size; size 0 of the result says that there is none.
type reader func(b []byte, width int) (v uint64, size int)

func readFixed(b []byte, width int) (uint64, int) {
	switch {
	case len(b) < width:
		return 0, 0
	case width == 8:
		return order.Uint64(b), 8
	}
	return uint64(order.Uint32(b)), 4
}

func readVarint(b []byte, _ int) (uint64, int) {
	v, n := binary.Uvarint(b)
	return v, max(n, 0)
}

// nameTable reads a table of names for total bytes at the beginning of b, nil if there is none.
func nameTable(b []byte, total uint32, read reader, left *int) []nameRange {
	count, n := read(b, 8)
	if n == 0 || count == 0 || count > uint64(len(b))/3 || count > maxSymbols {
		return nil
	}
	b = b[n:]
	var out []nameRange
	end, last := uint64(0), int64(-1)
	for range count {
		var f [3]uint64
		for i := range f {
			v, n := read(b, 4)
			*left--
			if n == 0 || *left <= 0 {
				return nil
			}
			f[i], b = v, b[n:]
		}
		if int64(f[0]) <= last || f[0] >= maxSymbols || f[1] != end || f[2] > uint64(total)-end {
			return nil
		}
		last, end = int64(f[0]), end+f[2]
		out = append(out, nameRange{uint32(f[0]), uint32(f[1]), uint32(f[2])})
	}
	if end != uint64(total) {
		return nil
	}
	return out
}

// text is the name at a place, as far as it is shown.
func (n *fullNames) text(place int) []byte {
	r := n.names[place]
	return n.bytes[r.offset:][:min(r.size, maxName)]
}

// place returns where the name of the function with that index is in names, -1 if it has none.
func (n *fullNames) place(index int) int {
	if n == nil || index < 0 {
		return -1
	}
	i := sort.Search(len(n.names), func(i int) bool { return int(n.names[i].index) >= index })
	if i == len(n.names) || int(n.names[i].index) != index {
		return -1
	}
	return i
}

// nameFully notes which functions have more of their name in the full names than in their symbols, and which have none
// but that of their export. A name that the symbol was not made of is another's: the module may have been replaced
// while the image was read.
func (im *image) nameFully() {
	for i := range im.functions {
		f := &im.functions[i]
		l := parseLabel(string(trimEnd(im.nameOf(f))))
		if l.role != wasmFunction || l.module != 0 {
			continue
		}
		if place := im.fullNames.place(l.index); place >= 0 {
			if full := string(im.fullNames.text(place)); full != l.name && (l.name == "" || madeOf(l.name, full)) {
				f.full = int32(place + 1)
			}
		} else if place := im.exports.place(l.index); place >= 0 && l.name == "" {
			f.full = -int32(place + 1)
		}
	}
}

// entered returns whether the image has code by which the host enters a function of the module, by its index.
func (im *image) entered() func(index int) bool {
	var entries map[int]bool
	return func(index int) bool {
		if entries == nil {
			entries = im.entries()
		}
		return entries[index]
	}
}

func (im *image) entries() map[int]bool {
	out := map[int]bool{}
	for i := range im.functions {
		l := parseLabel(string(trimEnd(im.nameOf(&im.functions[i]))))
		if _, number, ok := strings.Cut(l.name, "_to_wasm_trampoline"); ok && l.role == entryGlue && l.module == 0 {
			if index, _, ok := bracketed(number, ""); ok {
				out[index] = true
			}
		}
	}
	return out
}

// isModule reports whether the image is of one module: of which of several the table of names is, is not known.
func (im *image) isModule() bool { return order.Uint32(im.header[48:])&flagModule != 0 }

// fullOf returns where the full name of f is in memory, or that of its export, and its bytes; false where its symbol
// has its name, or nothing has.
func (im *image) fullOf(f *function) (mem.Addr, []byte, bool) {
	n, place := im.fullNames, int(f.full)-1
	if f.full < 0 {
		n, place = im.exports, -int(f.full)-1
	}
	if f.full == 0 {
		return 0, nil, false
	}
	return n.at + mem.Addr(n.names[place].offset), n.text(place), true
}

// madeOf reports whether wasmtime made the name of a symbol of the name full: characters that are not printed, and
// those that are not ASCII, became "?", one for each run, and 96 characters are kept.
// Source: clean_symbol in crates/wasmtime/src/compile.rs.
func madeOf(symbol, full string) bool {
	var clean []byte
	for _, c := range full {
		switch {
		case c > ' ' && c < 0x7f && c != '?':
			clean = append(clean, byte(c))
		case len(clean) == 0 || clean[len(clean)-1] != '?':
			clean = append(clean, '?')
		}
	}
	const kept = 96
	for strings.Contains(symbol, "??") {
		symbol = strings.ReplaceAll(symbol, "??", "?")
	}
	return string(clean) == symbol || len(symbol) >= kept-1 && strings.HasPrefix(string(clean), symbol)
}
