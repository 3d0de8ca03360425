//go:build linux && (amd64 || arm64)

package python

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/tests/walked"
)

// host is a program that holds the interpreter, and runs Python on a thread that the interpreter did not make.
const host = `#include <Python.h>
#include <pthread.h>
static void *run(void *unused) {
	PyGILState_STATE state = PyGILState_Ensure();
	PyRun_SimpleString("def leaf(n):\n  t = 0\n  for i in range(n): t += i\n  return t\n\n"
		"def spin():\n  print('ready', flush=True)\n  while True: leaf(1000)\n\nspin()\n");
	PyGILState_Release(state);
	return unused;
}
int main(void) {
	Py_Initialize();
	PyEval_SaveThread();
	pthread_t thread;
	pthread_create(&thread, 0, run, 0);
	return pthread_join(thread, 0);
}
`

// TestEmbedded: an interpreter in a library of a program, and one in a program without any symbol, are found; Python is
// on the thread that runs it, and not on the main thread.
func TestEmbedded(t *testing.T) {
	harness.Need(t, "strip")
	hosts(t, func(in interpreter, prefix, include string, shared []string) {
		t.Run(in.name+"/shared", func(t *testing.T) { checkEmbedded(t, in, prefix, false, shared...) })
		static, _ := filepath.Glob(filepath.Join(prefix, "lib/python3.*/config-*/libpython3.*.a"))
		if in.minor < 10 || len(static) == 0 { // without a symbol it has a section of its own from 3.10 on
			return
		}
		t.Run(in.name+"/stripped", func(t *testing.T) {
			checkEmbedded(t, in, prefix, true, "-I"+include, static[0], "-lm", "-ldl", "-lutil", "-lpthread")
		})
	})
}

// hosts gives yield the interpreters that a program can hold, with the options that link it to their library.
func hosts(t *testing.T, yield func(in interpreter, prefix, include string, shared []string)) {
	found := 0
	for _, in := range interpreters(t) {
		prefix := filepath.Dir(filepath.Dir(in.path))
		include := filepath.Join(prefix, fmt.Sprintf("include/python3.%d", in.minor))
		if _, err := os.Stat(filepath.Join(include, "Python.h")); in.root != "" || err != nil {
			continue
		}
		found++
		yield(in, prefix, include, []string{"-I" + include, "-L" + prefix + "/lib",
			fmt.Sprintf("-lpython3.%d", in.minor), "-Wl,-rpath," + prefix + "/lib", "-lpthread"})
	}
	if found == 0 {
		t.Skip("Python.h is not installed")
	}
}

// sleepingHost begins Python on a thread of its own. Below the stack of that, in the same mapping, lies the stack of a
// thread without Python, as where the C library puts no mapping between stacks. All of them sleep.
const sleepingHost = `#define _GNU_SOURCE
#include <Python.h>
#include <pthread.h>
#include <sys/mman.h>
#include <unistd.h>
static void *runs_python(void *unused) {
	Py_InitializeEx(0);
	PyRun_SimpleString("import time\n\ndef nap():\n  print('ready', flush=True)\n  time.sleep(1000)\n\nnap()\n");
	return unused;
}
static void *runs_none(void *unused) { for (;;) pause(); return unused; }
int main(void) {
	size_t size = 8 << 20;
	char *both = mmap(0, 2 * size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	pthread_t thread;
	pthread_attr_t attributes;
	pthread_attr_init(&attributes);
	pthread_attr_setstack(&attributes, both, size);
	pthread_create(&thread, &attributes, runs_none, 0);
	pthread_attr_setstack(&attributes, both + size, size);
	pthread_create(&thread, &attributes, runs_python, 0);
	for (;;) pause();
}
`

// TestSleepingHost: in a recording, where threads that sleep are not stopped, frames of Python are on the stack of the
// thread that runs them, and on no other.
func TestSleepingHost(t *testing.T) {
	hosts(t, func(in interpreter, prefix, _ string, shared []string) {
		t.Run(in.name, func(t *testing.T) {
			cmd := exec.Command(harness.Compile(t, "gcc", "host.c", sleepingHost, "host", shared...))
			cmd.Env = []string{"PYTHONHOME=" + prefix}
			cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
			p := startCommand(t, in, cmd).record(t, 400*time.Millisecond)
			seen := map[string]string{}
			for i := range p.Samples {
				if p.Value(i)[0] == 0 { // CPU time of a thread that ran between two samples: no stack was seen
					continue
				}
				thread, names := "", ""
				for n := p.Samples[i].Stack; n != 0; n = p.Tree.Parent(n) {
					f := &p.Frames[p.Tree.Frame(n)]
					switch {
					case f.Kind == profile.Python:
						names += f.Func + " "
					case f.Func == "main", f.Func == "runs_none", f.Func == "runs_python":
						thread = f.Func
					}
				}
				seen[thread] = names
			}
			want := map[string]string{"main": "", "runs_none": "", "runs_python": "nap <module> "}
			if !maps.Equal(seen, want) {
				t.Errorf("frames of Python by thread: %q, want %q", seen, want)
			}
		})
	})
}

func checkEmbedded(t *testing.T, in interpreter, prefix string, strip bool, options ...string) {
	program := harness.Compile(t, "gcc", "host.c", host, "host", options...)
	if strip {
		if out, err := exec.Command("strip", "-s", program).CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
	}
	cmd := exec.Command(program)
	cmd.Env = []string{"PYTHONHOME=" + prefix}
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	x := startCommand(t, in, cmd)
	for i := range 10 {
		walked.Pause(i)
		s := x.stop(t)
		for k := range s.Threads {
			stack := x.Stack(s, k)
			names := functions(&stack)
			want := []string{"leaf", "spin", "<module>"}
			if s.Threads[k].TID == x.PID() {
				want = nil
			}
			if !slices.Equal(names, want) && (want == nil || !slices.Equal(names, want[1:])) {
				t.Errorf("sample %d: %q, want %q%s", i, names, want, describe(&stack))
			}
			if why := flaws(&stack); why != "" {
				t.Errorf("sample %d: %s%s", i, why, describe(&stack))
			}
		}
	}
}
