//go:build linux

package live

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// Two libraries of the same layout, of which a program loads one after the other, mostly at the same place. callA
// is on the stack while the first is in use, callB while the second is.
const (
	pluginSource = `
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
static volatile int sink;
__attribute__((noinline, visibility("hidden"))) int JOIN(leaf, L)(int n) {
	for (int i = 0; i < n; i++) sink += i;
	return sink;
}
__attribute__((noinline, visibility("hidden"))) int JOIN(mid, L)(int n)
{
	return JOIN(leaf, L)(n) + JOIN(leaf, L)(n / 2) + 1;
}
int entry(int n) { int r = JOIN(mid, L)(n) + 1; return r; }
`
	hostSource = `
#include <dlfcn.h>
#include <stdio.h>
typedef int call(int);
__attribute__((noinline)) int callA(call *e, int n) { return e(n) + 1; }
__attribute__((noinline)) int callB(call *e, int n) { return e(n) + 2; }
int main(void) {
	puts("R");
	fflush(stdout);
	for (unsigned i = 0;; i++) {
		void *h = dlopen(i % 2 ? "./libB.so" : "./libA.so", RTLD_NOW);
		if (!h)
			return 1;
		call *e = (call *)dlsym(h, "entry");
		if (i % 2)
			callB(e, 200000);
		else
			callA(e, 200000);
		dlclose(h);
	}
}
`
)

// A stack in a library that was loaded since the mappings were read, or was gone when they were read again, says
// that it is not sure. That a library is exchanged twice within one sample cannot be seen: it is rare, even if the
// sample is kept waiting for a CPU.
func TestLibrariesComeAndGo(t *testing.T) {
	t.Parallel()
	dir := room(t)
	for name, text := range map[string]string{"plugin.c": pluginSource, "host.c": hostSource} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	sh(t, dir, "for l in A B; do gcc -O1 -fPIC -shared -DL=$l -o lib$l.so plugin.c; done; gcc -O1 -o host host.c -ldl")
	cmd := exec.Command("./host")
	cmd.Dir = dir
	p := launch(t, cmd).ready(t)
	inside, wrong, doubted := 0, 0, 0
	for range 120 {
		d := dumpJSON(t, p.pid, "--names=functions")
		frames := physical(d.Threads[0].Stack.Frames)
		at := slices.IndexFunc(frames, func(f frame) bool { return f.Function == "callA" || f.Function == "callB" })
		if at < 1 || frames[at-1].Module == nil || !d.Threads[0].Stack.Complete {
			continue
		}
		used := filepath.Base(d.Modules[*frames[at-1].Module].Path)
		if !strings.HasPrefix(used, "lib") {
			continue
		}
		inside++
		unsure := slices.ContainsFunc(frames[:at], func(f frame) bool { return f.Note != "" })
		switch {
		case unsure:
			doubted++
		case used != "lib"+strings.TrimPrefix(frames[at].Function, "call")+".so":
			wrong++
			t.Logf("%s below %s", used, frames[at].Function)
		}
	}
	t.Logf("%d stacks in a library, %d not sure, %d wrong and not reported", inside, doubted, wrong)
	if inside < 20 || wrong*12 > inside {
		t.Errorf("of %d stacks in a library %d are wrong and not reported, want at most one in twelve of 20 or more",
			inside, wrong)
	}
}
