package pclntab

import (
	"bytes"
	"encoding/binary"
	"maps"
	"testing"
)

// FuzzOpen changes bytes of a real program's sections: each 6 bytes of edits are an offset
// counted through all of them, and what is written there. A section is cut where the offset
// is above that.
func FuzzOpen(f *testing.F) {
	_, file := open(f, build(f, false, []string{"GOOS=linux", "GOARCH=386"}))
	whole := map[string]section{}
	for _, name := range []string{".gopclntab", ".go.module", ".text"} {
		addr, data, ok := sectionsOf(file)(name)
		if !ok {
			f.Fatalf("no section %q", name)
		}
		whole[name] = section{Addr: addr, Data: data}
	}
	text := whole[".text"]
	whole[".text"] = section{Addr: text.Addr}
	edit := func(at uint32, v uint16) []byte {
		return binary.LittleEndian.AppendUint16(binary.LittleEndian.AppendUint32(nil, at), v)
	}
	f.Add([]byte(nil), uint32(0x4000))
	f.Add(edit(8, 0xffff), uint32(0x1000))       // number of functions
	f.Add(edit(7, 8), uint32(0x1000))            // size of a pointer
	f.Add(edit(0x90010000, 0), uint32(0x1000))   // cut
	f.Add(edit(0x60000, 0xffff), uint32(0x8888)) // pc tables or records
	f.Fuzz(func(t *testing.T, edits []byte, off uint32) {
		sections := maps.Clone(whole)
		table := whole[".gopclntab"]
		module := whole[".go.module"]
		data := bytes.Clone(append(table.Data[:len(table.Data):len(table.Data)], module.Data...))
		end := len(table.Data)
		for ; len(edits) >= 6; edits = edits[6:] {
			at := binary.LittleEndian.Uint32(edits)
			if at >= 0x90000000 {
				end = min(end, int(at-0x90000000))
			} else if at %= uint32(len(data)); at+2 <= uint32(len(data)) {
				copy(data[at:], edits[4:6])
			}
		}
		sections[".gopclntab"] = section{Addr: table.Addr, Data: data[:end]}
		sections[".go.module"] = section{Addr: module.Addr, Data: data[len(table.Data):]}
		opened, err := Open(func(name string) (uint64, []byte, bool) {
			s, ok := sections[name]
			return s.Addr, s.Data,
				ok
		}, nil)
		if (err == nil) != (opened != nil) {
			t.Fatalf("Open: got table %v and error %v", opened != nil, err)
		}
		if err != nil {
			return
		}
		for i := range uint64(32) {
			pc := text.Addr + uint64(off) + i*331
			fn, ok := opened.Func(pc)
			if !ok {
				continue
			}
			if pc < fn.Entry || pc >= fn.End {
				t.Fatalf("function at %#x: got [%#x, %#x)", pc, fn.Entry, fn.End)
			}
			fn.Flags()
			fn.SPDelta(pc)
			if n := len(fn.Frames(pc)); n < 1 || n > maxInline+1 {
				t.Fatalf("frames at %#x: got %d", pc, n)
			}
		}
	})
}
