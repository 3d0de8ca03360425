//go:build linux

package wasm

import (
	"bufio"
	"context"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/maps/module"
	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/tracer"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

const (
	folder  = "../../testdata/bin/wasm"
	modules = "../../testdata/wasm"
)

// versions are those of wasmtime that are tested.
var versions = flag.String("wasmtime", "22,30,40,44", "versions of wasmtime, as built by scripts/build-wasm")

// eachVersion runs f as a subtest for each version, without harness.All for the newest.
func eachVersion(t *testing.T, f func(t *testing.T, version string)) {
	for _, v := range harness.Last(strings.Split(*versions, ",")) {
		t.Run("v"+v, func(t *testing.T) { f(t, v) })
	}
}

// target is a host that runs.
type target struct {
	t        testing.TB
	p        *tracer.Process
	pid      int
	memory   *counted
	image    module.Image
	set      *module.Set
	runtimes *vm.Process
	names    *resolve.Names
	walker   *unwind.Walker
	// module and other are the files of modules.
	module, other []byte
}

// start runs a host until it says that it is ready.
func start(t testing.TB, program, mode string, more ...string) *target {
	t.Helper()
	return startIn(t, modules, program, mode, more...)
}

// startIn is start with the modules of that folder.
func startIn(t testing.TB, folderOfModules, program, mode string, more ...string) *target {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(folder, program))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not built, scripts/build-wasm says why: %v", program, err)
	}
	files, err := filepath.Abs(folderOfModules)
	if err != nil {
		t.Fatal(err)
	}
	var code [2][]byte
	for i, name := range []string{"module.wasm", "other.wasm"} {
		if code[i], err = os.ReadFile(filepath.Join(files, name)); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(path, append([]string{mode, files}, more...)...)
	cmd.Dir = t.TempDir()
	cmd.Stderr = os.Stderr
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := harness.Start(cmd); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { cmd.Process.Kill(); cmd.Wait() })
	if line, err := bufio.NewReader(out).ReadString('\n'); line != "R\n" {
		t.Fatalf("%s %s said %q, %v", program, mode, line, err)
	}
	h := look(t, cmd.Process.Pid)
	h.module, h.other = code[0], code[1]
	return h
}

// counted counts the reads of a memory.
type counted struct {
	mem.Reader
	reads int
}

func (c *counted) ReadMem(b []byte, a mem.Addr) (int, error) {
	c.reads++
	return c.Reader.ReadMem(b, a)
}

// look opens a process.
func look(t testing.TB, pid int) *target {
	p, err := tracer.Open(pid, tracer.Options{})
	if err != nil {
		t.Skipf("the host cannot be sampled: %v", err)
	}
	h := &target{t: t, p: p, pid: pid, image: p.Image()}
	h.memory = &counted{Reader: h.image.Memory}
	h.image.Memory = h.memory
	table, err := p.Maps()
	if err != nil {
		t.Fatal(err)
	}
	h.set, h.runtimes = module.NewSet(table, h.image), vm.NewTable(vm.Kinds, nil).Process(h.image)
	t.Cleanup(func() { h.set.Close(); p.Close() })
	h.runtimes.Scan(h.set)
	h.names = resolve.New(h.set, resolve.Options{})
	h.walker = unwind.NewWalker(h.set, h.names)
	h.walker.Use(h.runtimes)
	return h
}

// sampled is the stack of one thread.
type sampled struct {
	thread *snapshot.Thread
	// delayed says that the CPU was taken from fpstack in the stop: not all was copied, and the threads were let go.
	delayed bool
	stack   unwind.Stack
	named   profile.Stack
}

// sample stops the threads with those ids, all for none, and walks their stacks.
func (h *target) sample(tids ...int) []sampled {
	h.t.Helper()
	snap, err := h.p.Snapshot(context.Background(), tracer.StopOptions{TIDs: tids, Copiers: h.runtimes.Copiers()})
	if err != nil {
		h.t.Fatal(err)
	}
	h.set.Update(snap.Maps)
	h.walker.Renew()
	out := make([]sampled, len(snap.Threads))
	late := slices.ContainsFunc(snap.Problems, func(p string) bool { return strings.Contains(p, "not copied in time") })
	for i := range snap.Threads {
		th := &snap.Threads[i]
		s := &out[i]
		s.thread, s.delayed = th, late || len(th.Shortfalls) > 0
		s.stack = h.walker.Walk(th, snap.Reader(th, h.memory), unwind.Options{})
		s.named = h.names.Stack(&s.stack)
	}
	return out
}

// undelayed is a sample of the first thread that the CPU was not taken from in the stop.
func (h *target) undelayed() *sampled {
	h.t.Helper()
	const tries = 50
	for range tries {
		if s := &h.sample(h.pid)[0]; !s.delayed {
			return s
		}
	}
	h.t.Fatalf("%d stops were all delayed", tries)
	return nil
}

// own are the names of functions of the hosts and their modules; what wasmtime and the C library have is left out.
var own = []string{"host_", "run_", "main", "work_", "wurk_", "import_", "recurse", "again_", "tail_", "other_",
	"lines_", "wasm-function[", "demo::engine::step", "na\u00efve name", "mycrate::foo", "many_", "number_", "thread"}

// chain lists the functions of the host and its modules, innermost first.
func (s *sampled) chain() []string {
	var out []string
	for i := range s.named.Frames {
		f := &s.named.Frames[i]
		switch {
		case f.Stub || f.Inlined && f.Kind != profile.Wasm, f.Kind != profile.Wasm && f.File == "":
		case f.Kind == profile.Wasm,
			slices.ContainsFunc(own, func(p string) bool { return strings.HasPrefix(f.Func, p) }):
			out = append(out, f.Func)
		}
	}
	return out
}

// notes are what frames say against themselves.
func (s *sampled) notes() []string {
	var out []string
	for _, f := range s.named.Frames {
		if f.Note != "" {
			out = append(out, fmt.Sprintf("%s at %#x: %s", f.Func, f.Addr, f.Note))
		}
	}
	return out
}

// text is the whole stack, for messages.
func (s *sampled) text() string {
	var b strings.Builder
	for i := range s.named.Frames {
		f := &s.named.Frames[i]
		fmt.Fprintf(&b, "  %2d %#x %s+%#x {%s %s}\n", f.Index, f.Addr, f.Func, f.Offset, f.Origin, f.Note)
	}
	fmt.Fprintf(&b, "  %s %s %v", s.named.Stop, s.named.Detail, s.thread.Shortfalls)
	return b.String()
}

// The parts of known chains, innermost first.
var (
	workChain   = []string{"work_leaf", "work_outer", "wasm-function[4]", "work_main"}
	importChain = []string{"host_leaf", "host_wait", "import_leaf", "recurse", "recurse", "recurse", "recurse",
		"import_main"}
	againChain = []string{"host_call", "host_again", "again_leaf", "again_main"}
	namesChain = []string{"host_leaf", "host_wait", "demo::engine::step", "na\u00efve name<with, spaces>",
		"mycrate::foo"}
)

// truth is the chains that a program can have: each from any of its functions outwards.
type truth map[string]bool

func (t truth) add(parts ...[]string) {
	all := slices.Concat(parts...)
	for i := range all {
		t[strings.Join(all[i:], " ")] = true
	}
}

// check reports whether the chain of s is one of t. One that is short must say why, and be the inner part of one.
func (t truth) check(s *sampled) (whole bool, err error) {
	got := strings.Join(s.chain(), " ")
	switch {
	case s.named.Complete && t[got]:
		return true, nil
	case !s.named.Complete && s.named.Detail != "":
		for whole := range t {
			if strings.HasPrefix(whole, got) {
				return false, nil
			}
		}
	}
	return false, fmt.Errorf("no such chain: %s\n%s", got, s.text())
}
