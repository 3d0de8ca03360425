//go:build linux && (amd64 || arm64)

package python

import (
	"bufio"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// posing is a program that looks like a CPython from before there was _PyRuntime: by its name and a function.
const posing = `#include <stdio.h>
#include <unistd.h>
void PyEval_EvalFrameEx(void) { puts("ready"); fflush(stdout); for (;;) pause(); }
int main(void) { PyEval_EvalFrameEx(); }
`

// TestRefused: an interpreter whose layout is not known is refused with its release, and its native frames stay.
func TestRefused(t *testing.T) {
	programs := map[string][]string{"3.6": {harness.Compile(t, "gcc", "posing.c", posing, "python3.6", "-rdynamic")}}
	pyenv := cmp.Or(os.Getenv("PYENV_ROOT"), filepath.Join(os.Getenv("HOME"), ".pyenv"))
	for _, release := range []string{"2.7", "3.6", "3.7"} {
		found, _ := filepath.Glob(filepath.Join(pyenv, "versions", release+".*", "bin", "python"+release))
		programs[release] = append(programs[release], found...)
	}
	const script = `import sys, time; sys.stdout.write("ready\n"); sys.stdout.flush(); time.sleep(1000)`
	for release, all := range programs {
		for _, program := range all {
			t.Run(release+"/"+filepath.Base(filepath.Dir(program)), func(t *testing.T) {
				checkRefused(t, exec.Command(program, "-c", script), release)
			})
		}
	}
}

func checkRefused(t *testing.T, cmd *exec.Cmd, release string) {
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = harness.Start(cmd)
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil {
		t.Fatalf("it said %q: %v", line, err)
	}
	p, err := tracer.Open(cmd.Process.Pid, tracer.Options{})
	if err != nil {
		t.Skipf("it cannot be looked into: %v", err)
	}
	defer p.Close()
	table, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	set, runtimes := module.NewSet(table, p.Image()), vm.NewTable(vm.Kinds, nil).Process(p.Image())
	defer set.Close()
	runtimes.Scan(set)
	want := "CPython " + release + ": its layout is not known"
	if err := runtimes.Err(); err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("error %v, want %q", err, want)
	}
	s, err := p.Snapshot(t.Context(), tracer.StopOptions{Copiers: runtimes.DumpCopiers()})
	if err != nil {
		t.Fatal(err)
	}
	names := resolve.New(set, resolve.Options{NoLines: true, NoInlines: true})
	w := unwind.NewWalker(set, names)
	w.Use(runtimes)
	walked := w.Walk(&s.Threads[0], s.Reader(&s.Threads[0], p), unwind.Options{})
	stack := names.Stack(&walked)
	if len(python(&stack)) > 0 || len(stack.Frames) < 4 || !stack.Complete {
		t.Errorf("frames%s\nwant native ones alone, down to the root", describe(&stack))
	}
}
