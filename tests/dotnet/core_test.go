//go:build linux && amd64

package dotnet

import (
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/snapshot/core"
	"github.com/fpstack/fpstack/snapshot/corefile"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// TestCore: a core has no pages of the files of assemblies. Where those files are believed its methods have the names
// and lines that they have in the process; where they are not it has fewer, and says so, and no other names.
func TestCore(t *testing.T) {
	s := startShapes(t, "9.0.5", "generic", "catch")
	path := filepath.Join(t.TempDir(), "core")
	writeCore(t, s.PID(), path)
	want := []string{"Shapes.Gate.Rest", "Shapes.Box<int>.Inner<__Canon>.Hold<double>", "Shapes.Box<int>.Keep",
		"Shapes.Thrower.Catch"}
	for _, believed := range []bool{true, false} {
		found, marked := map[string]bool{}, 0
		for _, f := range framesOfCore(t, path, believed) {
			if f.unnamed {
				marked++
			}
			if name := f.name; strings.HasPrefix(name, "Shapes.") {
				found[name] = true
				if !slices.Contains(want, name) && !strings.HasPrefix(name, "Shapes.Program.") &&
					name != "Shapes.Thrower.Throw" {
					t.Errorf("files believed %t: %q", believed, name)
				}
			}
		}
		for _, name := range want {
			if found[name] != believed {
				t.Errorf("files believed %t: %q is shown: %t", believed, name, found[name])
			}
		}
		if believed != (marked == 0) {
			t.Errorf("files believed %t: %d frames say that they are not named", believed, marked)
		}
	}
}

// writeCore writes a core with what the kernel writes by default.
func writeCore(t *testing.T, pid int, path string) {
	t.Helper()
	file, err := os.Create(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p, err := tracer.Open(pid, tracer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var got corefile.Result
	write := func(c *corefile.Process, m corefile.Memory) {
		got, err = corefile.Write(file, c, m, corefile.Options{Limit: 4 << 30})
	}
	_, stopErr := p.Snapshot(t.Context(), tracer.StopOptions{Core: write, CoreTime: time.Minute})
	if err := errors.Join(err, stopErr); err != nil || got.Cut != nil {
		t.Fatalf("%v; %+v", err, got)
	}
}

// coreFrame is a frame of .NET in a core; unnamed says that a note says so.
type coreFrame struct {
	name    string
	unnamed bool
}

func framesOfCore(t *testing.T, path string, believed bool) (out []coreFrame) {
	t.Helper()
	file, err := os.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	info, err := file.Stat()
	if err != nil {
		t.Fatal(err)
	}
	open := func(path string) (*module.File, error) {
		data, err := os.ReadFile(path)
		if err != nil {
			return nil, fs.ErrNotExist
		}
		return &module.File{Data: data, Path: path}, nil
	}
	c, err := core.Open(file, info.Size(), core.Files{Path: open, Unproved: believed}, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	set := module.NewSet(c.Maps, c.Image())
	defer set.Close()
	runtimes := vm.NewTable(vm.Kinds, nil).Process(c.Image())
	runtimes.Scan(set)
	names := resolve.New(set, resolve.Options{})
	w := unwind.NewWalker(set, names)
	w.Use(runtimes)
	c.Batches(core.Wanted{Copiers: runtimes.Copiers()}, func(batch *snapshot.Snapshot) {
		for i := range batch.Threads {
			th := &batch.Threads[i]
			walked := w.Walk(th, batch.Reader(th, c), unwind.Options{})
			for _, f := range names.Stack(&walked).Frames {
				if f.Kind.String() == "dotnet" {
					out = append(out, coreFrame{f.Func, f.Note != ""})
				}
			}
		}
	})
	return out
}
