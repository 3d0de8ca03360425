package dwarf

import (
	"bytes"
	"debug/dwarf"
	"debug/elf"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/work"
)

// ownInfo is the DWARF of a small Go program.
func ownInfo(t testing.TB) (info, abbrev []byte, peer *dwarf.Data) {
	t.Helper()
	dir := t.TempDir()
	source := filepath.Join(dir, "main.go")
	if err := os.WriteFile(source, []byte("package main\n\nfunc main() {}\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	program := filepath.Join(dir, "program")
	build := exec.Command("go", "build", "-ldflags=-compressdwarf=false", "-o", program, source)
	build.Env = append(os.Environ(), "CGO_ENABLED=0")
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("build: %v\n%s", err, out)
	}
	f, err := elf.Open(program)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { f.Close() })
	for name, to := range map[string]*[]byte{".debug_info": &info, ".debug_abbrev": &abbrev} {
		if *to, err = f.Section(name).Data(); err != nil {
			t.Fatal(err)
		}
	}
	if peer, err = f.DWARF(); err != nil {
		t.Fatal(err)
	}
	return info, abbrev, peer
}

var runtimeTypes = Wanted{Unit: "runtime", Names: []string{"runtime.g", "runtime.gobuf", "runtime.stack", "runtime.m"}}

// counting counts the bytes that are read.
type counting struct {
	*bytes.Reader
	n int
}

func (c *counting) Read(b []byte) (int, error) {
	n, err := c.Reader.Read(b)
	c.n += n
	return n, err
}

// TestStructs compares layouts with those that debug/dwarf reads, and reads no further than it takes.
func TestStructs(t *testing.T) {
	info, abbrev, peer := ownInfo(t)
	in := &counting{Reader: bytes.NewReader(info)}
	got, err := Structs(in, abbrev, false, runtimeTypes, work.New(1<<40, 1<<30))
	if err != nil {
		t.Fatal(err)
	}
	if in.n >= len(info) {
		t.Errorf("all %d bytes were read", in.n)
	}
	seen := 0
	for r := peer.Reader(); ; {
		e, err := r.Next()
		if err != nil || e == nil {
			break
		}
		name, _ := e.Val(dwarf.AttrName).(string)
		s, ok := got[name]
		if !ok || e.Tag != dwarf.TagStructType {
			continue
		}
		typ, err := peer.Type(e.Offset)
		if err != nil {
			t.Fatal(err)
		}
		seen++
		want := typ.(*dwarf.StructType)
		if s.Size != want.ByteSize || len(s.Members) != len(want.Field) {
			t.Errorf("%s: %d bytes, %d members; want %d, %d", name, s.Size, len(s.Members), want.ByteSize, len(want.Field))
		}
		for _, f := range want.Field {
			if at, ok := s.Members[f.Name]; !ok || at != f.ByteOffset {
				t.Errorf("%s.%s at %d, %v; want %d", name, f.Name, at, ok, f.ByteOffset)
			}
		}
	}
	if seen != len(runtimeTypes.Names) {
		t.Errorf("%d structures, want %d", seen, len(runtimeTypes.Names))
	}
}

// TestStructsMissing: what is not there, cut or more than the budget is an error.
func TestStructsMissing(t *testing.T) {
	info, abbrev, _ := ownInfo(t)
	other := runtimeTypes
	other.Names = append([]string{"runtime.none"}, other.Names...)
	for _, tc := range []struct {
		name   string
		info   []byte
		wanted Wanted
		budget *work.Budget
		want   string
	}{
		{"no such structure", info, other, nil, "no structure runtime.none"},
		{"no such unit", info, Wanted{Unit: "none", Names: []string{"runtime.g"}}, nil, "no structure runtime.g"},
		{"cut", info[:5000], runtimeTypes, nil, "unit of"},
		{"empty", nil, runtimeTypes, nil, "no structure"},
		{"a unit of 4 GB", append([]byte{0xef, 0xff, 0xff, 0xff}, info...), runtimeTypes, nil, "unit of 4294967279 bytes"},
		{"no budget", info, runtimeTypes, work.New(10, 10), work.ErrSpent.Error()},
	} {
		_, err := Structs(bytes.NewReader(tc.info), abbrev, false, tc.wanted, tc.budget)
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v, want %q", tc.name, err, tc.want)
		}
	}
}

// FuzzStructs: no bytes make it panic or read for ever.
func FuzzStructs(f *testing.F) {
	f.Add([]byte{11, 0, 0, 0, 4, 0, 0, 0, 0, 0, 8, 1, 2, 0, 0}, []byte{1, 0x11, 1, 3, 8, 0, 0, 2, 0x13, 1, 3, 8, 11, 11, 0, 0, 0})
	f.Fuzz(func(t *testing.T, info, abbrev []byte) {
		got, err := Structs(bytes.NewReader(info), abbrev, false, Wanted{Unit: "", Names: []string{"", "a"}},
			work.New(1<<24, 1<<24))
		if err == nil && len(got) != 2 {
			t.Errorf("%d structures without an error", len(got))
		}
	})
}
