//go:build linux && amd64

package door

import (
	"bufio"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// TestGoInLibrary stops C that Go in a library or a plugin has called: what leads back to the goroutine, and its stack,
// are copied in the stop, wherever the loader put the variable that has g.
func TestGoInLibrary(t *testing.T) {
	for _, row := range []struct{ host, library, outer string }{
		{"golibhost", "golib-cgo.so", "main"},
		{"gohost-cgo", "goplugin.so", "main.main"},
	} {
		t.Run(row.library, func(t *testing.T) {
			var paths []string
			for _, name := range []string{row.host, row.library} {
				path, _ := filepath.Abs(filepath.Join("../../testdata/bin/live", name))
				if _, err := os.Stat(path); err != nil {
					t.Skipf("%s is not built: scripts/build-live says why", name)
				}
				paths = append(paths, path)
			}
			cmd := exec.Command(paths[0], paths[1])
			cmd.Stderr = os.Stderr
			out, err := cmd.StdoutPipe()
			if err != nil {
				t.Fatal(err)
			}
			if err := cmd.Start(); err != nil {
				t.Fatal(err)
			}
			defer func() { cmd.Process.Kill(); cmd.Wait() }()
			if line, err := bufio.NewReader(out).ReadString('\n'); line != "R\n" {
				t.Fatalf("the host said %q, %v", line, err)
			}
			checkWaits(t, cmd.Process.Pid, row.outer)
		})
	}
}

// checkWaits checks the stack of the thread of process pid that waits in C which Go called.
func checkWaits(t *testing.T, pid int, outer string) {
	t.Helper()
	p, err := tracer.Open(pid, tracer.Options{})
	if err != nil {
		t.Skipf("the program cannot be looked into: %v", err)
	}
	defer p.Close()
	table, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	image := p.Image()
	set, runtimes := module.NewSet(table, image), vm.NewTable(vm.Kinds, nil).Process(image)
	defer set.Close()
	runtimes.Scan(set)
	names := resolve.New(set, resolve.Options{NoLines: true})
	w := unwind.NewWalker(set, names)
	w.Use(runtimes)
	for _, again := range []bool{false, true} { // a library is met by the first walk
		s, err := p.Snapshot(context.Background(), tracer.StopOptions{Copiers: runtimes.Copiers()})
		if err != nil {
			t.Fatal(err)
		}
		found := false
		for i := range s.Threads {
			th := &s.Threads[i]
			stack := w.Walk(th, s.Reader(th, p), unwind.Options{})
			var got []string
			for _, f := range names.Stack(&stack).Frames {
				got = append(got, f.Func)
			}
			inner := slices.IndexFunc(got, func(name string) bool { return filepath.Ext(name) == ".inner" })
			if inner < 0 {
				continue
			}
			found = true
			if !slices.Contains(got[inner:], outer) || stack.Stop != unwind.Root || again && stack.Late {
				t.Errorf("read late %t, %v %v, again %t: %q", stack.Late, stack.Stop, stack.Err, again, got)
			}
		}
		if !found {
			t.Error("no thread waits in inner")
		}
	}
}
