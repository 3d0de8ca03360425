package golang_test

import (
	"bytes"
	"compress/gzip"
	"debug/elf"
	"fmt"
	"io"
	"os"
	"path"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm/golang"
)

// recorded is where snapshots of programs on other architectures are; its README says how they were made.
const recorded = "../../testdata/snapshots"

// replayed is a recorded snapshot with the Go program that it shows.
type replayed struct {
	*snapshot.Snapshot
	program *elf.File
	symbols []elf.Symbol // functions
	set     *module.Set
	runtime *golang.Runtime
}

func replay(t *testing.T, folder, name string) *replayed {
	t.Helper()
	folder = filepath.Join(recorded, folder)
	f, err := os.Open(filepath.Join(folder, name+".snapshot"))
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	s, err := snapshot.NewReader(f, nil).Read()
	if err != nil {
		t.Fatal(err)
	}
	r := &replayed{Snapshot: s}
	file := gunzip(t, filepath.Join(folder, path.Base(s.Process.Exe)+".elf.gz"))
	if r.program, err = elf.NewFile(bytes.NewReader(file)); err != nil {
		t.Fatal(err)
	}
	if r.symbols, err = r.program.Symbols(); err != nil {
		t.Fatal(err)
	}
	r.symbols = slices.DeleteFunc(r.symbols, func(y elf.Symbol) bool { return elf.ST_TYPE(y.Info) != elf.STT_FUNC })
	r.set = module.NewSet(s.Maps, module.Image{Mapping: func(m *maps.Mapping) (*module.File, error) {
		if m.Path != s.Process.Exe {
			return nil, fmt.Errorf("open %q: not part of the recording", m.Path)
		}
		return &module.File{Data: file, Path: m.Path}, nil
	}, Memory: s.Reader(nil, nil)})

	pc, _ := s.Threads[0].Registers.PC()
	if r.runtime, err = golang.New(r.set.Find(pc), module.Image{}); err != nil || r.runtime == nil {
		t.Fatalf("no runtime in %s: %v", s.Process.Exe, err)
	}
	return r
}

func gunzip(t *testing.T, name string) []byte {
	t.Helper()
	f, err := os.Open(name)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	z, err := gzip.NewReader(f)
	if err != nil {
		t.Fatal(err)
	}
	b, err := io.ReadAll(z)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

// All, Meet and Scan implement unwind.Runtimes.
func (r *replayed) All() []unwind.Runtime { return []unwind.Runtime{r.runtime} }
func (r *replayed) Meet(*module.Module)   {}
func (r *replayed) Scan(*module.Set)      {}

// walk walks a thread from what was copied alone.
func (r *replayed) walk(t *snapshot.Thread) unwind.Stack {
	w := unwind.NewWalker(r.set, nil)
	w.Use(r)
	return w.Walk(t, r.Reader(t, nil), unwind.Options{})
}

// name is the function of a frame. These programs are linked to fixed addresses.
func (r *replayed) name(f *unwind.Frame) string {
	for _, y := range r.symbols {
		if v := uint64(f.LookupPC()); v >= y.Value && v < y.Value+y.Size {
			return y.Name
		}
	}
	return "?"
}

// show prints a stack as "name(origin) … stop"; an interrupted frame other than the innermost has a "!".
func (r *replayed) show(s unwind.Stack) string {
	var b strings.Builder
	for i := range s.Frames {
		f := &s.Frames[i]
		mark := ""
		if i > 0 && f.Interrupted {
			mark = "!"
		}
		fmt.Fprintf(&b, "%s%s(%v) ", r.name(f), mark, f.Origin)
	}
	return b.String() + s.Stop.String()
}
