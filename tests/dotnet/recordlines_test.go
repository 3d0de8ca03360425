//go:build linux

package dotnet

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/vm/coreclr/metadata"
	"github.com/fpstack/fpstack/vm/coreclr/readytorun"
	"github.com/fpstack/fpstack/vm/coreclr/unwindcode"
	"github.com/fpstack/fpstack/vm/view"
)

// TestRecordLines writes, for vm/coreclr, what tells the lines of the precompiled methods of a small assembly, and
// which places in the IL the runtime itself says.
func TestRecordLines(t *testing.T) {
	if *record == "" {
		t.Skip("it writes files: -record FOLDER")
	}
	for _, version := range []string{"9.0.5", "10.0.12"} {
		t.Run(version, func(t *testing.T) { recordLines(t, version, "System.ObjectModel") })
	}
}

func recordLines(t *testing.T, version, assembly string) {
	dir := t.TempDir()
	s := startHost(t, filepath.Join(fetched, version), own, []string{"TMPDIR=" + dir}, "oracle.dll", assembly)
	var out bytes.Buffer
	fmt.Fprintf(&out, "# %s of .NET %s (MIT licence), as TestRecordLines of tests/dotnet writes it.\n", assembly,
		version)
	im := s.precompiled(t, assembly, &out)
	for _, m := range s.runDown(t, dir) {
		if m.jitted || m.flags&1 != 0 {
			continue
		}
		i, ok := im.number(t, s, mem.Addr(m.start))
		if !ok {
			continue
		}
		const step = 5 // bytes
		for at := uint64(0); at < uint64(m.size); at += step {
			if native, il := s.place(t, &m, m.start+at); native == int(at) {
				fmt.Fprintf(&out, "is %d %d %d\n", i, native, il)
			}
		}
	}
	path := filepath.Join(*record, "r2r-"+version+".txt")
	if err := os.WriteFile(path, out.Bytes(), 0o644); err != nil {
		t.Fatal(err)
	}
}

// image is an image with precompiled code in a process.
type image struct{ *readytorun.Image }

// precompiled finds the image of an assembly, and writes what Debug reads of it.
func (s *server) precompiled(t *testing.T, assembly string, out *bytes.Buffer) image {
	t.Helper()
	table, err := s.Maps()
	if err != nil {
		t.Fatal(err)
	}
	for _, m := range table.All() {
		if !strings.HasSuffix(m.Path, "/"+assembly+".dll") || m.Offset != 0 {
			continue
		}
		seen := &seenMemory{s: s, out: out, base: m.Start}
		v := view.Lasting(seen, nil)
		pe, err := metadata.OpenImage(&v, m.Start)
		if err != nil {
			continue
		}
		at, _, err := pe.Native()
		if err != nil {
			t.Fatal(err)
		}
		im, err := readytorun.Open(&v, m.Start, at)
		if err != nil {
			t.Fatal(err)
		}
		part, _ := im.Section(readytorun.DebugInfo)
		seen.ReadMem(make([]byte, part.Size), m.Start+mem.Addr(part.RVA))
		return image{im}
	}
	t.Fatalf("%s is not mapped", assembly)
	return image{}
}

// number is that of the runtime function which begins at start; false if none does.
func (im image) number(t *testing.T, s *server, start mem.Addr) (int, bool) {
	t.Helper()
	part, _ := im.Section(readytorun.RuntimeFunctions)
	b := make([]byte, part.Size)
	if _, err := s.ReadMem(b, im.Base+mem.Addr(part.RVA)); err != nil {
		t.Fatal(err)
	}
	for i := 0; i*unwindcode.FunctionSize < len(b); i++ {
		f := unwindcode.ParseFunction(b[i*unwindcode.FunctionSize:])
		if im.Base+mem.Addr(f.Begin) == start {
			return i, true
		}
	}
	return 0, false
}

// seenMemory is the memory of a process, and writes down what is read of an image.
type seenMemory struct {
	s    *server
	out  *bytes.Buffer
	base mem.Addr
}

// ReadMem implements mem.Reader.
func (m *seenMemory) ReadMem(b []byte, a mem.Addr) (int, error) {
	n, err := m.s.ReadMem(b, a)
	for at := 0; at < n; at += 48 {
		fmt.Fprintf(m.out, "has %x %x\n", a-m.base+mem.Addr(at), b[at:min(at+48, n)])
	}
	return n, err
}
