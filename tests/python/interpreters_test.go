//go:build linux && (amd64 || arm64)

package python

import (
	"bufio"
	"cmp"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/tests/walked"
)

const (
	fetched = "../../testdata/bin/python" // roots that scripts/build-python made
	scripts = "../../testdata/live/python"
)

// interpreter is a python that is there.
type interpreter struct {
	name  string // "3.13", of a package with its root "3.13-debian", without a GIL "3.13t"
	minor int
	free  bool   // free-threaded
	root  string // to be run by chroot, "" for none
	path  string
}

// interpreters lists those that are there: roots, those of pyenv, and that of the machine; one of each name.
func interpreters(t testing.TB) []interpreter {
	t.Helper()
	var all []interpreter
	add := func(pattern, root, suffix string) {
		found, _ := filepath.Glob(filepath.Join(root, pattern))
		for _, f := range found {
			number, free := strings.CutSuffix(strings.TrimPrefix(filepath.Base(f), "python3."), "t")
			minor, err := strconv.Atoi(number)
			if err != nil || minor < 8 {
				continue
			}
			i := interpreter{name: fmt.Sprintf("3.%d%s", minor, suffix), minor: minor, free: free, root: root,
				path: strings.TrimPrefix(f, root)}
			if !slices.ContainsFunc(all, func(o interpreter) bool { return o.name == i.name }) {
				all = append(all, i)
			}
		}
	}
	if roots, _ := filepath.Glob(filepath.Join(fetched, "3.*")); os.Geteuid() == 0 {
		for _, r := range roots {
			r, _ = filepath.Abs(r)
			add("usr/bin/python3.*", r, "-debian")
		}
	}
	pyenv := cmp.Or(os.Getenv("PYENV_ROOT"), filepath.Join(os.Getenv("HOME"), ".pyenv"))
	add(filepath.Join(pyenv, "versions/3.*/bin/python3.*"), "", "")
	add("/usr/bin/python3.*", "", "-system")
	if built, err := filepath.Abs(fetched); err == nil {
		add(filepath.Join(built, "3.*t/bin/python3.*t"), "", "t")
	}
	if len(all) == 0 {
		t.Skip("no python3 is there: scripts/build-python gets some")
	}
	slices.SortStableFunc(all, func(a, b interpreter) int { return a.minor - b.minor })
	if !*full { // one of each release, a package where there is one: its files are stripped
		all = slices.CompactFunc(all, func(a, b interpreter) bool { return a.minor == b.minor && a.free == b.free })
	}
	if some := slices.DeleteFunc(slices.Clone(all), untried); !*full && !harness.All && len(some) > 0 {
		return some
	}
	return all
}

// untried reports whether an interpreter is none of the releases that each run tries: that of Debian 12, whose frames
// are known by CFrames, and the newest that has packages.
func untried(in interpreter) bool { return in.minor != 11 && in.minor != 14 }

// withGIL is what the environment takes for the interpreter to have a GIL.
func (in *interpreter) withGIL() []string {
	if in.free {
		return []string{"PYTHON_GIL=1"}
	}
	return nil
}

// target is a script that runs.
type target struct {
	*walked.Process
	interpreter
	truth *os.File // what faulthandler wrote
	end   func()
}

// start runs a script and waits until it says that it is ready. env and flags are for the interpreter.
func start(t testing.TB, in interpreter, script string, env []string, flags ...string) *target {
	t.Helper()
	folder := copyScripts(t, in)
	cmd := exec.Command(in.path, append(flags, folder+"/"+script)...)
	cmd.Env = append([]string{"PATH=/usr/bin:/bin", "LANG=C.UTF-8", "PYTHONDONTWRITEBYTECODE=1"}, env...)
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL, Chroot: in.root}
	cmd.Dir = "/"
	return startCommand(t, in, cmd)
}

// copyScripts puts the scripts where the interpreter sees them, and returns their folder there.
func copyScripts(t testing.TB, in interpreter) string {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(scripts, "*.py"))
	if err != nil || len(files) == 0 {
		t.Fatalf("no scripts: %v", err)
	}
	folder := t.TempDir()
	if in.root != "" {
		if folder, err = os.MkdirTemp(filepath.Join(in.root, "tmp"), "scripts"); err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() { os.RemoveAll(folder) })
	}
	for _, f := range files {
		b, err := os.ReadFile(f)
		if err == nil {
			err = os.WriteFile(filepath.Join(folder, filepath.Base(f)), b, 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	return strings.TrimPrefix(folder, in.root)
}

func startCommand(t testing.TB, in interpreter, cmd *exec.Cmd) *target {
	t.Helper()
	x := &target{interpreter: in}
	r, w, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	x.truth = r
	t.Cleanup(func() { r.Close() })
	cmd.ExtraFiles = []*os.File{w}
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err == nil {
		err = harness.Start(cmd)
	}
	w.Close()
	if err != nil {
		t.Fatal(err)
	}
	x.end = func() { cmd.Process.Kill(); cmd.Wait() }
	t.Cleanup(func() { x.end() })
	if line, err := bufio.NewReader(out).ReadString('\n'); err != nil || line != "ready\n" {
		t.Fatalf("%v in %s said %q: %v", cmd.Args, in.name, line, err)
	}
	x.open(t, cmd.Process.Pid)
	return x
}

// open traces process pid.
func (x *target) open(t testing.TB, pid int) {
	t.Helper()
	names := resolve.Options{NoLines: true, NoInlines: true}
	x.Process = walked.Open(t, pid, walked.Options{Names: names})
	x.known(t)
}

// recognise makes what walks and names the threads anew: it knows nothing yet.
func (x *target) recognise(t testing.TB) {
	t.Helper()
	x.Forget(t)
	x.known(t)
}

// known checks that the runtime is read.
func (x *target) known(t testing.TB) {
	t.Helper()
	if err := x.Runtimes.Err(); err != nil {
		t.Fatal(err)
	}
}

// stop takes one sample of all threads; more is called for each while it is stopped.
func (x *target) stop(t testing.TB, more ...snapshot.Copier) *snapshot.Snapshot {
	t.Helper()
	return x.StopWith(t, append(x.Runtimes.DumpCopiers(), more...))
}

// python are the frames of Python of a stack.
func python(s *profile.Stack) (frames []*profile.Frame) {
	for i := range s.Frames {
		if f := &s.Frames[i]; f.Kind == profile.Python && !f.Stub {
			frames = append(frames, f)
		}
	}
	return frames
}

// describe is a stack as text.
func describe(s *profile.Stack) string {
	var b strings.Builder
	for i := range s.Frames {
		f := &s.Frames[i]
		fmt.Fprintf(&b, "\n#%d %#x %s %s:%d %v stub %t {%s} %s", f.Index, f.Addr, f.Func, filepath.Base(f.File), f.Line,
			f.Kind, f.Stub, f.Origin, f.Note)
	}
	return b.String() + "\n" + s.Stop + ": " + s.Detail
}
