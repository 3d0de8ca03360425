//go:build linux

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
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/snapshot/core"
	"github.com/fpstack/fpstack/snapshot/corefile"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// TestCore: a core has no pages of the code and metadata of assemblies. Precompiled ones are proved by pages of their
// data, and have the names that they have in the process. An assembly of IL alone leaves nothing in the core: it has
// names and lines where its file is believed, and none, nor others, where it is not.
func TestCore(t *testing.T) {
	for _, version := range folders() {
		t.Run(version, func(t *testing.T) {
			s := startShapes(t, version, "generic", "catch", "semaphore")
			s.stopUntil(t, func(_ []string, stacks []profile.Stack) bool {
				return slices.ContainsFunc(stacks, func(k profile.Stack) bool {
					return slices.ContainsFunc(k.Frames, func(f profile.Frame) bool {
						return strings.HasSuffix(f.Func, "SemaphoreSlim.WaitUntilCountOrTimeout")
					})
				})
			})
			path := filepath.Join(t.TempDir(), "core")
			writeCore(t, s.PID(), path)
			for _, believed := range []bool{true, false} {
				compareCore(t, framesOfCore(t, path, believed), believed)
			}
		})
	}
}

func compareCore(t *testing.T, frames []coreFrame, believed bool) {
	t.Helper()
	const runtimes = "System.Threading."
	want := map[string]bool{"Shapes.Gate.Rest": believed, "Shapes.Box<int>.Inner<__Canon>.Hold<double>": believed,
		"Shapes.Box<int>.Keep": believed, "Shapes.Thrower.Catch": believed, runtimes + "Thread.Sleep": true,
		runtimes + "SemaphoreSlim.WaitUntilCountOrTimeout": true}
	found, marked := map[string]bool{}, 0
	for _, f := range frames {
		if f.unnamed {
			marked++
		}
		found[f.name] = true
		if _, known := want[f.name]; strings.HasPrefix(f.name, "Shapes.") && !known &&
			!strings.HasPrefix(f.name, "Shapes.Program.") && !strings.HasPrefix(f.name, "Shapes.Waits.") &&
			f.name != "Shapes.Thrower.Throw" {
			t.Errorf("files believed %t: %q", believed, f.name)
		}
	}
	for name, there := range want {
		if found[name] != there {
			t.Errorf("files believed %t: %q is shown: %t", believed, name, found[name])
		}
	}
	if believed != (marked == 0) {
		t.Errorf("files believed %t: %d frames say that they are not named", believed, marked)
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
