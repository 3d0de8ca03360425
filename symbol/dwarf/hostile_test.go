package dwarf

import (
	"bytes"
	"encoding/binary"
	"errors"
	"runtime"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/work"
)

// units returns n version 4 units, number i at 0x1000+16*i and 16 bytes long, and the table of their root
// entry. more are further attributes of it, as pairs of name and form, values their bytes in unit i.
func units(n int, more []byte, values func(i int) []byte) map[string][]byte {
	le := binary.LittleEndian
	var info []byte
	for i := range n {
		body := append(le.AppendUint32(le.AppendUint16(nil, 4), 0), 8, 1)
		body = le.AppendUint32(le.AppendUint64(body, 0x1000+16*uint64(i)), 16)
		body = append(body, values(i)...)
		info = append(le.AppendUint32(info, uint32(len(body))), body...)
	}
	table := append([]byte{1, tagCompileUnit, 0, atLowPC, formAddr, atHighPC, formData4}, more...)
	return map[string][]byte{".debug_info": info, ".debug_abbrev": append(table, 0, 0, 0)}
}

// every returns n addresses from 0x1000 on, step apart.
func every(step uint64, n int) []uint64 {
	out := make([]uint64, n)
	for i := range out {
		out[i] = 0x1000 + step*uint64(i)
	}
	return out
}

// of returns the DWARF of sections whose code lies at [0x1000, 0x100000).
func of(sections map[string][]byte) *Data {
	return New(Object{Low: 0x1000, High: 0x100000, Section: func(name string) ([]byte, error) {
		return sections[name],
			nil
	}})
}

// wantBudget fails unless err says that the work was too much.
func wantBudget(t *testing.T, err error) {
	t.Helper()
	if !errors.Is(err, ErrBudget) {
		t.Errorf("got error %v, want %v", err, ErrBudget)
	}
}

// lengths is n ranges [lo, hi) as .debug_ranges has them, and the end of the list.
func lengths(n int, lo, hi uint64) []byte {
	one := binary.LittleEndian.AppendUint64(binary.LittleEndian.AppendUint64(nil, lo), hi)
	return append(bytes.Repeat(one, n), make([]byte, 16)...)
}

// Units that have one line program in common each run it.
func TestBudgetOfLinePrograms(t *testing.T) {
	const n = 200
	s := units(n, []byte{atStmtList, formSecOffset}, func(int) []byte { return make([]byte, 4) })
	s[".debug_line"] = lineSection(4, 1, 1, 0xfb, 14, oldTables,
		join(setAddress(0x1000), bytes.Repeat([]byte{lnsCopy}, 1<<20), []byte{2, 0x80, 0x40, 0, 1, 1}))
	out, err := of(s).Calls(every(16, n))
	wantBudget(t, err)
	named := 0
	for _, calls := range out {
		if calls != nil {
			named++
		}
	}
	if named == 0 || named > 50 { // 16 million and 8 for each byte are some 24 programs
		t.Errorf("%d of %d programs were run, want some 24", named, n)
	}
}

// A program that goes back and forth meets all wanted addresses again and again.
func TestBudgetOfRowsThatGoDown(t *testing.T) {
	s := units(1, []byte{atStmtList, formSecOffset}, func(int) []byte { return make([]byte, 4) })
	binary.LittleEndian.PutUint32(s[".debug_info"][firstEntry-4:], 0x10000) // its length
	again := join(setAddress(0x1000), []byte{lnsCopy}, setAddress(0x11000), []byte{lnsCopy})
	s[".debug_line"] = lineSection(4, 1, 1, 0xfb, 14, oldTables, bytes.Repeat(again, 20000))
	_, err := of(s).Calls(every(1, 10000))
	wantBudget(t, err)
}

// rangedEntries is a function with a list of ranges and a call in it with another list.
func rangedEntries(inner uint32) (abbrevs, entries []byte) {
	abbrevs = []byte{2, tagSubprogram, 1, atRanges, formSecOffset, 0, 0, 3, tagInlined, 0, atRanges, formSecOffset, 0,
		0}
	entries = append([]byte{2, 0, 0, 0, 0, 3}, binary.LittleEndian.AppendUint32(nil, inner)...)
	return abbrevs, append(entries, 0, 0)
}

// The ranges of a function are compared with each of those of the calls inside.
func TestBudgetOfRanges(t *testing.T) {
	const n = 30000
	list := append(make([]byte, 16), lengths(n, 0x18, 0x20)...) // relative to the unit, which begins at 0x1000
	list = append(list[16:], lengths(n, 0x10, 0x20)...)
	s := handmade(rangedEntries(uint32(len(list) / 2)))
	s[".debug_ranges"] = list
	out, err := ask(s, 0x1018)
	wantBudget(t, err)
	if len(out[0]) == 0 {
		t.Error("got nothing, want what was found before")
	}
}

// An attribute may take no byte of its entry: many of them are work all the same.
func TestBudgetOfAttributesWithoutBytes(t *testing.T) {
	const attrs, entries = 50000, 3000
	empty := bytes.Repeat([]byte{0x3f, formFlagPresent}, attrs) // DW_AT_external
	t.Run("of functions", func(t *testing.T) {
		abbrevs := join([]byte{2, tagSubprogram, 0, atLowPC, formFlagPresent}, empty, []byte{0, 0})
		_, err := ask(handmade(abbrevs, append(bytes.Repeat([]byte{2}, entries), 0)), 0x1010)
		wantBudget(t, err)
	})
	t.Run("of what functions refer to", func(t *testing.T) {
		abbrevs := join([]byte{2, tagSubprogram, 0, atLowPC, formAddr, atHighPC, formData4, atSpecification, formRef4,
			0, 0, 3, tagSubprogram, 0}, empty, []byte{0, 0})
		one := len(functionEntry(0))
		var list []byte
		for i := range entries {
			f := functionEntry(uint32(firstEntry + one*entries + i))
			binary.LittleEndian.PutUint64(f[1:], 0x1000+uint64(i))
			binary.LittleEndian.PutUint32(f[9:], 1)
			list = append(list, f...)
		}
		s := handmade(abbrevs, append(append(list, bytes.Repeat([]byte{3}, entries)...), 0))
		binary.LittleEndian.PutUint32(s[".debug_info"][firstEntry-4:], entries) // the unit's length
		_, err := ask(s, every(1, entries)...)
		wantBudget(t, err)
	})
}

// Many names that are one long string are many copies.
func TestBudgetOfNames(t *testing.T) {
	const entries = 3000
	abbrevs := []byte{2, tagSubprogram, 0, atLowPC, formAddr, atHighPC, formData4, atLinkageName, formStrp, 0, 0}
	var list []byte
	for i := range entries {
		f := functionEntry(0)
		binary.LittleEndian.PutUint64(f[1:], 0x1000+uint64(i))
		binary.LittleEndian.PutUint32(f[9:], 1)
		list = append(list, f...)
	}
	s := handmade(abbrevs, append(list, 0))
	binary.LittleEndian.PutUint32(s[".debug_info"][firstEntry-4:], entries)
	s[".debug_str"] = append(bytes.Repeat([]byte("x"), maxString-1), 0)
	out, err := ask(s, every(1, entries)...)
	wantBudget(t, err)
	if len(out[0]) != 1 || len(out[0][0].Linkage) != maxString-1 || out[0][0].Start != 0x1000 {
		t.Errorf("the first function: got %d calls, want its name", len(out[0]))
	}
}

// All addresses in a function have one copy of its name.
func TestNamesAreShared(t *testing.T) {
	const n = 0x20
	long := strings.Repeat("x", maxString-1)
	abbrevs := []byte{2, tagSubprogram, 0, atLowPC, formAddr, atHighPC, formData4, atName, formStrp, 0, 0, 4,
		tagNamespace, 1, atName, formStrp, 0, 0}
	s := handmade(abbrevs, join([]byte{4, 0, 0, 0, 0}, functionEntry(0), []byte{0, 0}))
	s[".debug_str"] = []byte(long + "\x00")
	d := of(s)
	addrs := every(1, 0x10+n)[0x10:]
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	out, err := d.Calls(addrs)
	runtime.ReadMemStats(&after)
	if err != nil {
		t.Fatal(err)
	}
	for i, calls := range out {
		if len(calls) != 1 || calls[0].Name != long+"::"+long {
			t.Fatalf("at %#x: got %d calls, want one with the name", addrs[i], len(calls))
		}
	}
	if took := after.TotalAlloc - before.TotalAlloc; took > 12*maxString {
		t.Errorf("%d names of %d bytes took %d bytes", n, len(out[0][0].Name), took)
	}
}

// Tables of abbreviations that overlap are not kept all: a call for each unit must not add up.
func TestAbbreviationsKeptAreBounded(t *testing.T) {
	const n = 60
	s := units(n, nil, func(int) []byte { return nil })
	info, one := s[".debug_info"], len(s[".debug_info"])/n
	root := s[".debug_abbrev"][1:9]
	var table []byte
	for i := range n { // number i begins with the root entry of unit i and holds those of all behind
		info[i*one+11] = byte(100 + i%100)
		binary.LittleEndian.PutUint32(info[i*one+6:], uint32(len(table)))
		table = append(append(table, byte(100+i%100)), root...)
	}
	for code := range uint64(4000) {
		table = append(binary.AppendUvarint(table, 1000+code), tagNamespace, 0, atName, formString, 0, 0)
	}
	s[".debug_abbrev"] = append(table, 0)
	d := of(s)
	for _, v := range every(16, n) {
		d.Calls([]uint64{v})
	}
	kept := 0
	for _, a := range d.abbrevs {
		kept += len(a.dense) + len(a.sparse)
		for i := range a.dense {
			kept += len(a.dense[i].attrs)
		}
		for _, one := range a.sparse {
			kept += len(one.attrs)
		}
	}
	if kept > 3*len(table) {
		t.Errorf("%d abbreviations and attributes are kept of %d bytes", kept, len(table))
	}
}

// Headers of line tables that overlap are not kept all.
func TestLineHeadersKeptAreBounded(t *testing.T) {
	const n = 60
	s := units(n, []byte{atStmtList, formSecOffset}, func(int) []byte { return make([]byte, 4) })
	files := append([]byte{0}, bytes.Repeat([]byte("f\x00\x00\x00\x00"), 20000)...)
	s[".debug_line"] = lineSection(4, 1, 1, 0xfb, 14, append(files, 0), nil)
	d := of(s)
	for _, v := range every(16, n) {
		d.Calls([]uint64{v})
	}
	kept := 0
	for _, u := range d.units {
		if u.lines != nil {
			kept += len(u.lines.files)
		}
	}
	if kept > 3*20000 {
		t.Errorf("%d files are kept of a table with 20,000", kept)
	}
}

// The entries of a list of files have a byte at least, whatever their count says.
func TestFilesWithoutBytes(t *testing.T) {
	// No directories; files of no fields, and of one that takes no byte.
	for _, tables := range [][]byte{{0, 0, 0, 0x10}, {0, 0, 1, 1, formFlagPresent, 0x10}} {
		s := units(1, []byte{atStmtList, formSecOffset}, func(int) []byte { return make([]byte, 4) })
		s[".debug_line"] = lineSection(5, 1, 1, 0xfb, 14, append(tables, make([]byte, 0x20)...),
			join(setAddress(0x1000), []byte{1, 2, 4, 0, 1, 1}))
		if out, err := of(s).Calls([]uint64{0x1000}); err == nil || !strings.Contains(err.Error(), ".debug_line") {
			t.Errorf("%x: got %+v, error %v, want one about .debug_line", tables, out, err)
		}
	}
}

// Behind directories that are not read, be they too many or the memory too little, no directory is taken for a file.
func TestDirectoriesThatAreCut(t *testing.T) {
	for _, c := range []struct {
		name  string
		dirs  int
		bytes int64 // of memory, 0 for as much as is wanted
		file  string
	}{
		{"all are read", maxFiles - 1, 0, "src/a.c"},
		{"one more than are read", maxFiles + 1, 0, ""},
		{"no memory for all", 1000, 500 * fileSize, ""},
	} {
		s := units(1, []byte{atStmtList, formSecOffset}, func(int) []byte { return make([]byte, 4) })
		tables := join([]byte("src\x00"), bytes.Repeat([]byte("d\x00"), c.dirs-1),
			[]byte("\x00a.c\x00\x01\x00\x00\x00"))
		s[".debug_line"] = lineSection(4, 1, 1, 0xfb, 14, tables, join(setAddress(0x1000), []byte{1, 2, 4, 0, 1, 1}))
		o := Object{Low: 0x1000, High: 0x100000, Section: func(name string) ([]byte, error) { return s[name], nil }}
		if c.bytes != 0 {
			o.Budget = work.New(1<<40, c.bytes)
		}
		out, err := New(o).Calls([]uint64{0x1000})
		file := ""
		if len(out[0]) == 1 {
			file = out[0][0].File
		}
		if file != c.file || (err == nil) != (c.file != "") {
			t.Errorf("%s: %q, error %v, want %q", c.name, file, err, c.file)
		}
	}
}

// Files that a program defines are defined again by each run: they must not pile up.
func TestDefinedFiles(t *testing.T) {
	s := units(1, []byte{atStmtList, formSecOffset}, func(int) []byte { return make([]byte, 4) })
	s[".debug_line"] = lineSection(4, 1, 1, 0xfb, 14, oldTables, join(setAddress(0x1000),
		[]byte{0, 9, 3, '/', 'x', '.', 'c', 0, 0, 0, 0}, []byte{4, 3, 1, 2, 4, 0, 1, 1}))
	d := of(s)
	for round := range 5 {
		out, err := d.Calls([]uint64{0x1002})
		if err != nil || len(out[0]) != 1 || out[0][0].File != "/x.c" || out[0][0].Line != 1 {
			t.Errorf("call %d: got %+v, %v, want /x.c:1", round, out[0], err)
		}
	}
	if files := d.units[place{}].lines.files; len(files) != 4 { // none, a.c, b.h, x.c
		t.Errorf("%d files are known, want 4", len(files))
	}
}

// Type units are found by their signature without keeping all of them.
func TestTypeUnitsAreNotKept(t *testing.T) {
	const n = 1000
	le := binary.LittleEndian
	var types []byte
	for i := range n {
		body := append(le.AppendUint32(le.AppendUint16(nil, 4), 0), 8)
		body = le.AppendUint32(le.AppendUint64(body, uint64(i)), 23)
		types = append(le.AppendUint32(types, uint32(len(body)+1)), append(body, 1)...)
	}
	s := units(1, nil, func(int) []byte { return nil })
	s[".debug_types"] = types
	d := of(s)
	d.begin()
	for _, sig := range []uint64{0, 7, n - 1} {
		if u := d.typeUnit(sig); u == nil || u.id != sig || !u.at.types || u.at.off != sig*uint64(len(types)/n) {
			t.Errorf("unit of signature %d: got %+v", sig, u)
		}
	}
	if u := d.typeUnit(n); u != nil {
		t.Errorf("a signature that no unit has: got %+v", u)
	}
	if len(d.units) > 10 {
		t.Errorf("%d units are kept, want those asked for", len(d.units))
	}
}

// Each skeleton looks through all units of its file.
func TestBudgetOfSplitUnits(t *testing.T) {
	const n, parts = 2000, 4000
	// DW_AT_GNU_dwo_name, _dwo_id
	s := units(n, []byte{0xb0, 0x42, formString, 0xb1, 0x42, formData8}, func(i int) []byte {
		return binary.LittleEndian.AppendUint64([]byte("x\x00"), 1<<32+uint64(i))
	})
	part := units(parts, nil, func(int) []byte { return nil })
	file := NewSplit(Object{Section: func(name string) ([]byte, error) {
		return part[strings.TrimSuffix(name, ".dwo")],
			nil
	}})
	d := of(s)
	d.o.Split = func(Skeleton) (*Data, error) { return file, nil }
	_, err := d.Calls(every(16, n))
	wantBudget(t, err)
}

// What ran out of budget is asked again by the next call.
func TestNextCallHasABudgetOfItsOwn(t *testing.T) {
	abbrevs := []byte{2, tagSubprogram, 0, atLowPC, formAddr, atHighPC, formData4, atName, formString, 0, 0}
	entry := functionEntry(0)
	s := handmade(abbrevs, join(entry[:len(entry)-4], []byte("f\x00\x00")))
	short := 0
	for left := range int64(400) {
		d := of(s)
		d.begin()
		for id := range sectionCount {
			d.data(id) // each adds to the budget
		}
		d.left = left
		if out := d.find([]uint64{0x1010}); len(out[0]) != 1 || out[0][0].Name != "f" {
			short++
		}
		if out, err := d.Calls([]uint64{0x1010}); err != nil || len(out[0]) != 1 || out[0][0].Name != "f" {
			t.Errorf("the call after one with %d steps: got %+v, %v, want f", left, out, err)
		}
	}
	if short < 10 || short > 390 {
		t.Errorf("%d of 400 budgets were too small, want some", short)
	}
}

// Names of C have no scope: GNU C's nested functions are known by their own name.
func TestScopesByLanguage(t *testing.T) {
	for _, c := range []struct {
		language uint16
		want     string
	}{
		{0x0c, "f"}, {0x1d, "f"}, {0x2c, "f"}, {0x3e, "f"}, // DW_LANG_C99, C11, C17, C23
		{0x04, "n::f"}, {0x2b, "n::f"}, {0x2f, "n::f"}, // DW_LANG_C_plus_plus, C_plus_plus_20, Ada2012
		{0x2e, "n::f"}, // DW_LANG_Ada2005
	} {
		abbrevs := []byte{2, tagSubprogram, 0, atLowPC, formAddr, atHighPC, formData4, atName, formString, 0, 0, 4,
			tagNamespace, 1, atName, formString, 0, 0}
		entry := functionEntry(0)
		s := handmade(abbrevs, join([]byte("\x04n\x00"), entry[:len(entry)-4], []byte("f\x00\x00\x00")))
		s[".debug_abbrev"] = append([]byte{1, tagCompileUnit, 1, atLowPC, formAddr, atHighPC, formData4, atLanguage,
			formImplicitConst},
			append(binary.AppendUvarint(nil, uint64(c.language)), s[".debug_abbrev"][7:]...)...)
		if c.language >= 0x40 {
			t.Fatal("as SLEB128 this is negative")
		}
		out, err := of(s).Calls([]uint64{0x1010})
		if err != nil || len(out[0]) != 1 || out[0][0].Name != c.want {
			t.Errorf("language %#x: got %+v, %v, want %q", c.language, out[0], err, c.want)
		}
	}
}

// Sections so large that eight steps for each byte do not fit in 32 bits are read as others.
func TestBudgetOfLargeSections(t *testing.T) {
	abbrevs := []byte{2, tagSubprogram, 0, atLowPC, formAddr, atHighPC, formData4, atName, formStrp, 0, 0}
	s := handmade(abbrevs, append(functionEntry(1), 0))
	s[".debug_str"] = make([]byte, 300<<20) // untouched: no memory
	copy(s[".debug_str"], "\x00f")
	d := of(s)
	for range 2 {
		if out, err := d.Calls([]uint64{0x1010}); err != nil || len(out[0]) != 1 || out[0][0].Name != "f" {
			t.Errorf("got %+v, %v, want f", out, err)
		}
	}
}
