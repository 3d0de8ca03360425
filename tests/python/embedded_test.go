//go:build linux && amd64

package python

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/tests/walked"
)

// host is a program that holds the interpreter, and runs Python on a thread that the interpreter did not make.
const host = `#include <Python.h>
#include <pthread.h>
static void *run(void *unused) {
	PyGILState_STATE state = PyGILState_Ensure();
	PyRun_SimpleString("def leaf(n):\n  t = 0\n  for i in range(n): t += i\n  return t\n\n"
		"def spin():\n  while True: leaf(1000)\n\nprint('ready', flush=True)\nspin()\n");
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
	found := 0
	for _, in := range interpreters(t) {
		prefix := filepath.Dir(filepath.Dir(in.path))
		include := filepath.Join(prefix, fmt.Sprintf("include/python3.%d", in.minor))
		if _, err := os.Stat(filepath.Join(include, "Python.h")); in.root != "" || err != nil {
			continue
		}
		found++
		library := fmt.Sprintf("-lpython3.%d", in.minor)
		t.Run(in.name+"/shared", func(t *testing.T) {
			checkEmbedded(t, in, prefix, false, "-I"+include, "-L"+prefix+"/lib", library, "-Wl,-rpath,"+prefix+"/lib",
				"-lpthread")
		})
		static, _ := filepath.Glob(filepath.Join(prefix, "lib/python3.*/config-*/libpython3.*.a"))
		if in.minor < 10 || len(static) == 0 { // without a symbol it has a section of its own from 3.10 on
			continue
		}
		t.Run(in.name+"/stripped", func(t *testing.T) {
			checkEmbedded(t, in, prefix, true, "-I"+include, static[0], "-lm", "-ldl", "-lutil", "-lpthread")
		})
	}
	if found == 0 {
		t.Skip("Python.h is not installed")
	}
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
