//go:build linux && (amd64 || arm64)

package java

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

// TestCore: a core has the frames of Java that the process had, none of them marked as read late.
func TestCore(t *testing.T) {
	p := start(t, "17", "-Xmx32m", "Truth", "30000")
	want := []string{"Truth.report", "Truth.leaf", "Truth.generic", "Truth$1.run", "Truth.anonymous", "Truth.locked"}
	path := filepath.Join(t.TempDir(), "core")
	writeCore(t, p.pid, path)
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
	c, err := core.Open(file, info.Size(), core.Files{Path: open, Unproved: true}, nil)
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
	found := false
	c.Batches(core.Wanted{Copiers: runtimes.Copiers()}, func(batch *snapshot.Snapshot) {
		for i := range batch.Threads {
			th := &batch.Threads[i]
			walked := w.Walk(th, batch.Reader(th, c.Image().Memory), unwind.Options{})
			stack := names.Stack(&walked)
			got := functions(javaFrames(&stack))
			for len(got) > 0 && strings.HasPrefix(got[0], "java.lang.Thread.") {
				got = got[1:]
			}
			if len(got) < len(want) || got[0] != want[0] {
				continue
			}
			found = true
			if !slices.Equal(got[:len(want)], want) || !stack.Complete {
				t.Errorf("got %q\n%s", got, show(&stack))
			}
			for _, f := range stack.Frames {
				if f.Unsure || f.Gap {
					t.Errorf("%s: %s", f.Func, f.Note)
				}
			}
		}
	})
	if !found {
		t.Error("no thread of the core is in Truth.report")
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
		got, err = corefile.Write(file, c, m, corefile.Options{Limit: 8 << 30})
	}
	_, stopErr := p.Snapshot(t.Context(), tracer.StopOptions{Core: write, CoreTime: time.Minute})
	if err := errors.Join(err, stopErr); err != nil || got.Cut != nil {
		t.Fatalf("%v; %+v", err, got)
	}
}
