//go:build linux && (amd64 || arm64)

package exact

import (
	"debug/elf"
	"debug/gosym"
	"encoding/hex"
	"fmt"
	"path/filepath"
	"slices"
	"sort"
	"strings"

	"github.com/fpstack/fpstack/maps"
)

// names gives functions to addresses, for reports and for the list of known misses. It reads
// ELF by debug/elf, the debug file that the build id names, and by debug/gosym what Go keeps, so
// that it is independent of the code under test.
type names map[string]*objectNames

type objectNames struct {
	segments []elf.ProgHeader
	symbols  []elf.Symbol // functions, ascending
}

// name fills the names of a Miss. A return address is named by the call before it, which may be
// the last instruction of its function.
func (s *session) name(t *thread, m *Miss) {
	m.Symbol = s.names.find(t.space.table, m.PC)
	for i, a := range m.Truth {
		m.names = append(m.names, s.names.find(t.space.table, a-uint64(min(i, 1))))
	}
	for i := range m.Walked {
		m.names = append(m.names, s.names.find(t.space.table, uint64(m.Walked[i].LookupPC())))
	}
}

// find returns "function+0x12 [module]", or "module+0x1234" where no symbol is near.
func (n names) find(table *maps.Table, addr uint64) string {
	m := table.Find(memAddr(addr))
	if m == nil {
		return "(not mapped)"
	}
	if !m.IsFile() {
		return fmt.Sprintf("%s+%#x", m.Path, addr-uint64(m.Start))
	}
	o, ok := n[m.Path]
	if !ok {
		o = readNames(m.Path)
		n[m.Path] = o
	}
	base := filepath.Base(m.Path)
	off := addr - uint64(m.Start) + uint64(m.Offset)
	if o == nil {
		return fmt.Sprintf("%s+%#x", base, off)
	}
	return o.find(base, off)
}

func (o *objectNames) find(base string, off uint64) string {
	v := off
	for _, p := range o.segments {
		if p.Type == elf.PT_LOAD && p.Off <= off && off < p.Off+p.Filesz {
			v = off - p.Off + p.Vaddr
		}
	}
	last := sort.Search(len(o.symbols), func(i int) bool { return o.symbols[i].Value > v }) - 1
	const aliases = 16 // how many symbols may be at one address or inside of another
	for i := last; i >= 0 && i > last-aliases; i-- {
		if y := o.symbols[i]; v < y.Value+y.Size || (y.Size == 0 && i == last) {
			return fmt.Sprintf("%s+%#x [%s]", y.Name, v-y.Value, base)
		}
	}
	return fmt.Sprintf("%s+%#x", base, v)
}

// readNames reads the symbols of a file and of its debug file; nil if it is no ELF file.
func readNames(path string) *objectNames {
	f, err := elf.Open(path)
	if err != nil {
		return nil
	}
	defer f.Close()
	o := &objectNames{}
	for _, p := range f.Progs {
		o.segments = append(o.segments, p.ProgHeader)
	}
	o.add(f)
	if s := f.Section(".note.gnu.build-id"); s != nil {
		if b, err := s.Data(); err == nil && len(b) > 18 {
			id := hex.EncodeToString(b[16:])
			if d, err := elf.Open("/usr/lib/debug/.build-id/" + id[:2] + "/" + id[2:] + ".debug"); err == nil {
				o.add(d)
				d.Close()
			}
		}
	}
	if len(o.symbols) == 0 {
		o.addGo(f)
	}
	slices.SortStableFunc(o.symbols, func(a, b elf.Symbol) int {
		if a.Value != b.Value {
			if a.Value < b.Value {
				return -1
			}
			return 1
		}
		return strings.Compare(a.Name, b.Name)
	})
	return o
}

func (o *objectNames) add(f *elf.File) {
	for _, read := range []func() ([]elf.Symbol, error){f.Symbols, f.DynamicSymbols} {
		list, _ := read() // a stripped file has none
		for _, s := range list {
			t := elf.ST_TYPE(s.Info)
			code := t == elf.STT_FUNC || t == elf.STT_NOTYPE || t == elf.STT_GNU_IFUNC
			if code && s.Section != elf.SHN_UNDEF && s.Name != "" {
				o.symbols = append(o.symbols, s)
			}
		}
	}
}

// addGo adds the functions of a Go program without symbols, which its runtime has a table of.
func (o *objectNames) addGo(f *elf.File) {
	table, text := f.Section(".gopclntab"), f.Section(".text")
	if table == nil || text == nil {
		return
	}
	data, err := table.Data()
	if err != nil {
		return
	}
	names, err := gosym.NewTable(nil, gosym.NewLineTable(data, text.Addr))
	if err != nil {
		return
	}
	for i := range names.Funcs {
		fn := &names.Funcs[i]
		o.symbols = append(o.symbols, elf.Symbol{Name: fn.Name, Value: fn.Entry, Size: fn.End - fn.Entry})
	}
}
