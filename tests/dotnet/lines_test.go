//go:build linux

package dotnet

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/coreclr/metadata"
	"github.com/fpstack/fpstack/vm/coreclr/pdb"
	"github.com/fpstack/fpstack/vm/view"
)

// inLines are assemblies of the runtime whose precompiled methods are compared, the last of them with -full.
var inLines = []string{"System.Linq", "System.Collections", "System.Text.Json", "System.Collections.Immutable",
	"System.Private.CoreLib", "System.Private.Xml"}

// TestPrecompiledLines: places in precompiled methods, and in those that are compiled at run time, belong to the IL
// that the runtime itself says for stack traces. The assemblies get PDBs in which the line is the offset into the IL.
// All methods of the assemblies are prepared, and have their names.
func TestPrecompiledLines(t *testing.T) {
	least, assemblies := 2000, inLines[:4]
	if *full {
		least, assemblies = 20000, inLines
	}
	for _, version := range folders() {
		if !*full && version != "10.0.12" {
			continue
		}
		t.Run(version, func(t *testing.T) { precompiledLines(t, version, least, assemblies) })
	}
}

func precompiledLines(t *testing.T, version string, least int, assemblies []string) {
	dir := t.TempDir()
	folder := withPDBs(t, version, assemblies)
	s := startHost(t, folder, own, []string{"TMPDIR=" + dir}, append([]string{"oracle.dll"}, assemblies...)...)
	methods := slices.DeleteFunc(s.runDown(t, dir), func(m ranDown) bool { return m.flags&1 != 0 || m.start == 0 })
	s.Forget(t) // what was prepared meanwhile
	s.compareRundown(t, methods, least/2)
	random := rand.New(rand.NewPCG(1, 2))
	random.Shuffle(len(methods), func(i, k int) { methods[i], methods[k] = methods[k], methods[i] })
	var c placesCompared
	n := s.runtime(t)
	for i := 0; c.precompiled+c.compiled < least && i < len(methods); i++ {
		m := &methods[i]
		for range 3 {
			pc := m.start + random.Uint64N(uint64(max(m.size, 1)))
			c.compare(t, s, n, m, pc)
		}
	}
	if err := s.Runtimes.Err(); err != nil {
		t.Error(err)
	}
	t.Logf("%d places in precompiled methods, %d in compiled ones are as the runtime says; %d belong to no IL, "+
		"%d have no line; %d wrong", c.precompiled, c.compiled, c.unmapped, c.without, c.wrong)
	if c.precompiled < least/2 || c.wrong > 0 || c.unmapped > (c.precompiled+c.compiled)/4 {
		t.Errorf("%d places are right, %d wrong, %d belong to no IL", c.precompiled+c.compiled, c.wrong, c.unmapped)
	}
}

// placesCompared counts places in code.
type placesCompared struct {
	precompiled, compiled, unmapped, without, wrong int
}

// place asks the runtime where in the IL of m the place pc is.
func (s *server) place(t *testing.T, m *ranDown, pc uint64) (native, il int) {
	t.Helper()
	fmt.Fprintf(s.in, "%x %x\n", m.id, pc)
	if _, err := fmt.Fscanln(s.out, &native, &il); err != nil {
		t.Fatalf("the runtime says nothing of %s::%s: %v", m.typ, m.name, err)
	}
	return native, il
}

// compare compares the line of the place pc in m with what the runtime says: 0 for code of the compiler's own.
func (c *placesCompared) compare(t *testing.T, s *server, n namer, m *ranDown, pc uint64) {
	t.Helper()
	native, il := s.place(t, m, pc)
	f, ok := s.at(n, pc)
	switch {
	case !ok || !strings.HasSuffix(f.File, ".cs"):
		c.without++
	case f.Line-1 == il && m.jitted:
		c.compiled++
	case f.Line-1 == il:
		c.precompiled++
	case il >= lastLine:
		c.without++
	case il == 0:
		c.unmapped++
	default:
		if c.wrong++; c.wrong < 10 {
			t.Errorf("%s::%s+%#x (precompiled: %t) is line %d (%s), the runtime says IL %d at %#x", m.typ, m.name,
				pc-m.start, !m.jitted, f.Line, f.Note, il, native)
		}
	}
}

// lastLine is the last IL offset that the PDBs have.
const lastLine = 2000

// withPDBs makes a folder with the runtime of a version in which the assemblies have PDBs beside them.
func withPDBs(t *testing.T, version string, assemblies []string) string {
	t.Helper()
	from, err := filepath.Abs(filepath.Join(fetched, version))
	if err != nil {
		t.Fatal(err)
	}
	to := linkedFolder(t, from)
	for _, name := range assemblies {
		data, err := os.ReadFile(filepath.Join(from, name+".dll"))
		if err != nil {
			t.Fatal(err)
		}
		const base = 1 << 20
		v := view.Copied(nil, mem.Range{Start: base, Data: data})
		im, err := metadata.OpenImage(&v, base)
		if err != nil {
			t.Fatal(err)
		}
		ref, ok, err := pdb.Beside(im)
		if err != nil || !ok {
			t.Fatalf("%s names no PDB: %v", name, err)
		}
		if err := os.WriteFile(filepath.Join(to, ref.Name), offsetPDB(ref.ID, "/src/"+name+".cs"), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	return to
}

// offsetPDB is a portable PDB in which each IL offset of each method is a line of its own, number offset + 1.
func offsetPDB(id pdb.ID, file string) []byte {
	const methods = 1 << 16
	// Blobs: 0 is empty, then the name of the file as the document has it, its two parts, and the lines.
	blob := []byte{0}
	put := func(b []byte) uint32 {
		at := uint32(len(blob))
		blob = append(compressed(blob, uint32(len(b))), b...)
		return at
	}
	name := put(append([]byte{0}, compressed(nil, put([]byte(file)))...))
	lines := []byte{0} // no local variables
	for offset := range uint32(lastLine) {
		step := min(offset, 1)
		lines = append(compressed(lines, step), 0, 1) // one line, one column
		if offset == 0 {
			lines = append(lines, 1, 1) // line 1, column 1
		} else {
			lines = append(lines, 2, 0) // one line more, the same column
		}
	}
	at := put(lines)

	le := binary.LittleEndian
	tables := []byte{0, 0, 0, 0, 2, 0, 4, 1} // wide indexes of blobs
	tables = le.AppendUint64(tables, 1<<0x30|1<<0x31)
	tables = le.AppendUint64(tables, 0)
	tables = le.AppendUint32(le.AppendUint32(tables, 1), methods)
	tables = le.AppendUint16(le.AppendUint32(tables, name), 0)
	tables = le.AppendUint16(le.AppendUint32(tables, 0), 0)
	for range methods {
		tables = le.AppendUint32(le.AppendUint16(tables, 1), at)
	}
	head := le.AppendUint64(le.AppendUint32(slices.Clone(id[:]), 0), 0) // no entry point, no tables of the assembly

	out := []byte("BSJB\x01\x00\x01\x00\x00\x00\x00\x00\x0c\x00\x00\x00PDB v1.0\x00\x00\x00\x00\x00\x00\x03\x00")
	const streams = 3
	start := len(out) + streams*8 + len("#Pdb\x00\x00\x00\x00") + len("#~\x00\x00") + len("#Blob\x00\x00\x00")
	var data []byte
	for _, s := range []struct {
		name string
		data []byte
	}{{"#Pdb\x00\x00\x00\x00", head}, {"#~\x00\x00", tables}, {"#Blob\x00\x00\x00", blob}} {
		s.data = append(s.data, make([]byte, -len(s.data)&3)...)
		out = le.AppendUint32(out, uint32(start+len(data)))
		out = append(le.AppendUint32(out, uint32(len(s.data))), s.name...)
		data = append(data, s.data...)
	}
	return append(out, data...)
}

// compressed appends v as blobs have numbers, ECMA-335 II.23.2.
func compressed(b []byte, v uint32) []byte {
	switch {
	case v < 0x80:
		return append(b, byte(v))
	case v < 0x4000:
		return append(b, byte(v>>8)|0x80, byte(v))
	}
	return append(b, byte(v>>24)|0xc0, byte(v>>16), byte(v>>8), byte(v))
}
