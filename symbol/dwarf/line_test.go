package dwarf

import (
	"encoding/binary"
	"testing"
)

// lineSection builds a line table by hand: header fields as given, the program behind.
func lineSection(version int, minLength, maxOps, lineBase, lineRange byte, tables, program []byte) []byte {
	le := binary.LittleEndian
	var head []byte
	head = append(head, minLength)
	if version >= 4 {
		head = append(head, maxOps)
	}
	head = append(head, 1, lineBase, lineRange, 13, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1)
	head = append(head, tables...)
	b := le.AppendUint16(nil, uint16(version))
	if version >= 5 {
		b = append(b, 8, 0)
	}
	b = le.AppendUint32(b, uint32(len(head)))
	b = append(append(b, head...), program...)
	return append(le.AppendUint32(nil, uint32(len(b))), b...)
}

func setAddress(v uint64) []byte {
	return binary.LittleEndian.AppendUint64([]byte{0, 9, 2}, v)
}

func join(parts ...[]byte) (out []byte) {
	for _, p := range parts {
		out = append(out, p...)
	}
	return out
}

// Version 2 to 4: directory "inc", files "a.c" (of the compilation's directory) and "b.h" (of inc).
var oldTables = []byte("inc\x00\x00a.c\x00\x00\x00\x00b.h\x00\x01\x00\x00\x00")

// Version 5: directories "/comp" and "inc", files "a.c" and "b.h" with a checksum (DW_FORM_data16).
var newTables = join([]byte{1, 1, 8, 2}, []byte("/comp\x00inc\x00"), []byte{3, 1, 8, 2, 11, 5, 0x1e, 2},
	[]byte("a.c\x00\x00"), make([]byte, 16), []byte("b.h\x00\x01"), make([]byte, 16))

func TestLinePrograms(t *testing.T) {
	end := []byte{0, 1, 1}
	for _, c := range []struct {
		name    string
		section []byte
		want    map[uint64]string // address -> file:line, "" for none
	}{
		{"special opcodes: line_base -5, line_range 14, opcode_base 13",
			// 0x4b = 13+62: address +62/14=4, line -5+62%14=+1. 0x83 = 13+118: address +8, line -5+6=+1.
			lineSection(2, 1, 1, 0xfb, 14, oldTables, join(setAddress(0x1000), []byte{1, 0x4b, 0x83, 2, 4}, end)),
			map[uint64]string{0xfff: "", 0x1000: "/comp/a.c:1", 0x1003: "/comp/a.c:1", 0x1004: "/comp/a.c:2",
				0x100b: "/comp/a.c:2", 0x100c: "/comp/a.c:3", 0x100f: "/comp/a.c:3", 0x1010: ""}},
		{"file, line and address by standard opcodes",
			// set_file 2, advance_line -1+101 as SLEB 0xe4 0x00, const_add_pc: (255-13)/14 = 17, fixed_advance_pc
			// 0x100.
			lineSection(3, 1, 1, 0xfb, 14, oldTables,
				join(setAddress(0x1000), []byte{4, 2, 3, 0xe4, 0, 1, 8, 1, 9, 0, 1, 1}, end)),
			map[uint64]string{0x1000: "/comp/inc/b.h:101", 0x1010: "/comp/inc/b.h:101", 0x1110: "/comp/inc/b.h:101",
				0x1111: ""}},
		{"instructions of 4 bytes",
			lineSection(4, 4, 1, 0xfb, 14, oldTables, join(setAddress(0x1000), []byte{1, 0x4b, 2, 1}, end)),
			map[uint64]string{0x100f: "/comp/a.c:1", 0x1010: "/comp/a.c:2", 0x1013: "/comp/a.c:2", 0x1014: ""}},
		{"three operations in an instruction of 16 bytes",
			// advance_pc 2: operation 2 of the same instruction; advance_pc 2: 4/3=1 instruction, operation 1.
			lineSection(4, 16, 3, 0xfb, 14, oldTables,
				join(setAddress(0x1000), []byte{1, 2, 2, 3, 1, 1, 2, 2, 3, 1, 1, 2, 3}, end)),
			map[uint64]string{0x1000: "/comp/a.c:2", 0x100f: "/comp/a.c:2", 0x1010: "/comp/a.c:3",
				0x101f: "/comp/a.c:3", 0x1020: ""}},
		{"version 5 with checksums, files from 0",
			lineSection(5, 1, 1, 0xfb, 14, newTables, join(setAddress(0x1000), []byte{4, 0, 1, 2, 4, 4, 1, 1, 2, 4},
				end)),
			map[uint64]string{0x1000: "/comp/a.c:1", 0x1004: "/comp/inc/b.h:1", 0x1008: ""}},
		{"several rows for one address: the last",
			lineSection(2, 1, 1, 0xfb, 14, oldTables, join(setAddress(0x1000), []byte{1, 3, 8, 1, 3, 1, 1, 2, 4}, end)),
			map[uint64]string{0x1000: "/comp/a.c:10", 0x1003: "/comp/a.c:10"}},
		{"sequences of dropped functions at 0 and at -1",
			lineSection(2, 1, 1, 0xfb, 14, oldTables, join(
				setAddress(0), []byte{3, 90, 1, 2, 0x80, 0x80, 1}, end, // 0 to 0x4000
				setAddress(^uint64(0)), []byte{3, 80, 1, 2, 0x80, 0x80, 1}, end,
				setAddress(0x2000), []byte{1, 2, 8}, end)),
			map[uint64]string{0x1fff: "", 0x2000: "/comp/a.c:1", 0x2008: ""}},
		{"sequences out of order",
			lineSection(2, 1, 1, 0xfb, 14, oldTables, join(
				setAddress(0x2000), []byte{1, 2, 8}, end, setAddress(0x1000), []byte{3, 4, 1, 2, 8}, end)),
			map[uint64]string{0x1000: "/comp/a.c:5", 0x1007: "/comp/a.c:5", 0x1008: "", 0x2000: "/comp/a.c:1"}},
		{"an opcode of a later version and one with a length of its own",
			// 12 (set_isa) has an argument by the header; 0x80 is an extension (DW_LNE_lo_user).
			lineSection(2, 1, 1, 0xfb, 14, oldTables,
				join(setAddress(0x1000), []byte{12, 0x85, 1, 0, 3, 0x80, 1, 2, 1, 2, 4}, end)),
			map[uint64]string{0x1000: "/comp/a.c:1", 0x1004: ""}},
		{"file defined by the program",
			lineSection(2, 1, 1, 0xfb, 14, oldTables, join(setAddress(0x1000),
				[]byte{0, 8, 3, '/', 'x', '.', 'c', 0, 0, 0}, []byte{0}, []byte{4, 3, 1, 2, 4}, end)),
			nil}, // the entry is longer than it says: no answer, no panic
		{"line_range 0", lineSection(2, 1, 1, 0xfb, 0, oldTables, join(setAddress(0x1000), []byte{1, 0x4b}, end)),
			map[uint64]string{0x1000: ""}},
	} {
		t.Run(c.name, func(t *testing.T) {
			// A unit whose compilation directory is an inline string of its "info".
			sections := map[string][]byte{".debug_line": c.section, ".debug_info": []byte("/comp\x00")}
			d := New(Object{Low: 0x1000, High: 0x10000,
				Section: func(name string) ([]byte, error) { return sections[name], nil }})
			d.begin()
			u := &unit{d: d, end: 6, layout: layout{addrSize: 8, offSize: 4}}
			u.root.stmtList = value{form: formSecOffset}
			u.root.compDir = value{form: formString}
			table := u.lineTable()
			if table == nil {
				t.Fatalf("header: %v", d.end())
			}
			for v, want := range c.want {
				rows := make([]row, 1)
				table.find([]uint64{v}, rows)
				got := ""
				if rows[0].ok {
					got = call{file: table.path(rows[0].file), line: rows[0].line}.String()[1:]
				}
				if got != want {
					t.Errorf("at %#x: got %q, want %q", v, got, want)
				}
			}
		})
	}
}
