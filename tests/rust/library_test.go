//go:build linux && (amd64 || arm64)

package rust

import (
	"slices"
	"strconv"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
)

// host is a program in C that loads a library of Rust and has it start tasks.
const host = `
#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int main(int argc, char **argv)
{
	void *library = dlopen(argv[1], RTLD_NOW);
	void (*start)(unsigned, _Bool) = library ? dlsym(library, "start_tasks") : NULL;
	if (!start)
		return 1;
	start(atoi(argv[2]), !strcmp(argv[3], "multi"));
	for (;;)
		pause();
}
`

// script is that program in Python, whose interpreter knows nothing of the library's tasks.
const script = `
import ctypes, sys, time
ctypes.CDLL(sys.argv[1]).start_tasks(int(sys.argv[2]), sys.argv[3] == "multi")
while True:
    time.sleep(3600)
`

// TestLibrary: the tasks of a shared library are those of its source, whatever program has loaded it.
func TestLibrary(t *testing.T) {
	t.Parallel()
	const n = 5
	library, want := binary(t, "libtasks.so"), chains(t)
	for tool, p := range map[string]harness.Program{
		"gcc":     {Files: map[string]string{"host.c": host}, Argv: []string{"./host"}},
		"python3": {Files: map[string]string{"host.py": script}, Argv: []string{"python3", "host.py"}},
	} {
		for _, scheduler := range []string{"current", "multi"} {
			t.Run(tool+" "+scheduler, func(t *testing.T) {
				t.Parallel()
				harness.Need(t, tool)
				loads := harness.Program{Files: p.Files, Ready: "ready",
					Argv: slices.Concat(p.Argv, []string{library, strconv.Itoa(n), scheduler})}
				compare(t, dump(t, loads.Begin(t)), want, n)
			})
		}
	}
}
