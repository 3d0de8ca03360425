//go:build linux && amd64

package exact

import (
	"bufio"
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
)

// reloader loads each of the libraries named, and lets its function call back: then it writes
// where that goes on in the library, and in main, and waits for a line.
const reloader = `
#include <dlfcn.h>
#include <stdio.h>
#include <stdlib.h>
static void *in_main;
__attribute__((noinline)) int wait_here(void) {
	char line[8];
	printf("%p %p\n", __builtin_return_address(0), in_main);
	fflush(stdout);
	if (!fgets(line, sizeof line, stdin)) exit(0);
	return 1;
}
__attribute__((noinline)) int visit(int (*hold)(int (*)(void))) {
	in_main = __builtin_return_address(0);
	return hold(wait_here) + 1;
}
int main(int argc, char **argv) {
	for (int i = 1; i < argc; i++) {
		void *h = dlopen(argv[i], RTLD_NOW);
		if (!h) { puts(dlerror()); return 1; }
		if (visit(dlsym(h, "hold")) != 2) return 1;
		dlclose(h);
	}
}`

// TestLibraryReplaced unloads a library and loads another one at the same address, whose
// function has the same return address and a frame of another size: the row of the first one
// would lead astray.
func TestLibraryReplaced(t *testing.T) {
	if err := mayTrace(); err != nil {
		t.Skipf("ptrace is not to be had here: %v", err)
	}
	dir := t.TempDir()
	build := func(name, source string, options ...string) string {
		out := filepath.Join(dir, name)
		if err := os.WriteFile(out+".c", []byte(source), 0o666); err != nil {
			t.Fatal(err)
		}
		if b, err := exec.Command("cc", append(options, "-O2", "-fomit-frame-pointer", "-o", out,
			out+".c")...).CombinedOutput(); err != nil {
			t.Fatalf("%v\n%s", err, b)
		}
		return out
	}
	library := func(name string, size int) string {
		return build(name, fmt.Sprintf("int hold(int (*f)(void)) { volatile char b[%d]; b[0] = f(); return b[0]; }",
			size), "-shared", "-fPIC")
	}
	a, b := library("a.so", 512), library("b.so", 4096)
	program := build("reloader", reloader, "-ldl")
	run := exec.Command(program, a, b, a, b)
	in, err := run.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := run.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := run.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { in.Close(); run.Process.Kill(); run.Wait() })
	p, err := tracer.Open(run.Process.Pid, tracer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { p.Close() })
	lines := bufio.NewReader(out)
	var set *module.Set
	var walker *unwind.Walker
	var first mem.Addr
	seen := map[*module.Module]string{}
	for i, library := range []string{a, b, a, b} {
		var inLibrary, inMain mem.Addr
		if _, err := fmt.Fscanf(lines, "0x%x 0x%x\n", &inLibrary, &inMain); err != nil {
			t.Fatal(err)
		}
		snap, err := p.Snapshot(context.Background(), tracer.StopOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if i == 0 {
			first = inLibrary
			set = module.NewSet(snap.Maps, p.Image())
			defer set.Close()
			walker = walkerOf(set, resolve.New(set, resolve.Options{}))
		} else {
			set.Update(snap.Maps)
		}
		if inLibrary != first {
			t.Skipf("library %d returns to %#x, not %#x as the first one: nothing is replaced", i, uint64(inLibrary),
				uint64(first))
		}
		for range 3 {
			checkReload(t, walker, snap, p, library, inLibrary, inMain, seen)
		}
		fmt.Fprintln(in)
	}
	if len(seen) != 2 {
		t.Errorf("got %d modules for two libraries", len(seen))
	}
}

// checkReload walks the only thread: the library's return address must be there, in its module,
// then one in visit, then that in main which the program reported, and the outermost frame.
func checkReload(t *testing.T, w *unwind.Walker, snap *snapshot.Snapshot, p *tracer.Process, library string, inLibrary,
	inMain mem.Addr, seen map[*module.Module]string) {
	t.Helper()
	th := &snap.Threads[0]
	s := w.Walk(th, snap.Reader(th, p), unwind.Options{})
	at := slices.IndexFunc(s.Frames, func(f unwind.Frame) bool { return f.PC == inLibrary })
	if at < 0 || at+2 >= len(s.Frames) || s.Frames[at+2].PC != inMain || s.Stop != unwind.Root {
		t.Fatalf("%s: got %+v, %v (%v), want %#x, visit, %#x and the root", library, s.Frames, s.Stop, s.Err,
			uint64(inLibrary), uint64(inMain))
	}
	m := s.Frames[at].Module
	if m == nil || m.Path != library {
		t.Fatalf("got module %+v, want %s", m, library)
	}
	seen[m] = library
}
