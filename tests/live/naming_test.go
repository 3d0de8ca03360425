//go:build linux

package live

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
	"time"
)

// sh runs a script that prepares files in dir.
func sh(t testing.TB, dir, script string, args ...string) string {
	t.Helper()
	cmd := exec.Command("sh", append([]string{"-ec", script, "sh"}, args...)...)
	cmd.Dir = dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		t.Skipf("%s does not work here: %v\n%s", script, err, out)
	}
	return strings.TrimSpace(string(out))
}

// byBuildID is shell that sets $debug to where the debug file of $1 belongs below the folder $2.
const byBuildID = `id=$(readelf -n "$1" | sed -n 's/.*Build ID: //p')
	debug="$2/.build-id/$(echo $id | cut -c1-2)/$(echo $id | cut -c3-).debug"
mkdir -p "$(dirname "$debug")"
`

// stripTo parts a program into a stripped one at to and its debug file below debugDir, under its
// build id or, as musl-gcc gives none, by a link.
func stripTo(t testing.TB, from, to, debugDir string) {
	t.Helper()
	sh(t, filepath.Dir(to), byBuildID+`strip -o "$3" "$1"
if [ -n "$id" ]; then objcopy --only-keep-debug "$1" "$debug"
else objcopy --only-keep-debug "$1" "$2/linked.debug"; objcopy --add-gnu-debuglink="$2/linked.debug" "$3"
	fi`, from, debugDir, to)
}

// checkLined is checkNamed, and the sleepers' own functions have lines of threads.c.
func checkLined(t *testing.T, pid int, args ...string) *dump {
	t.Helper()
	d := dumpJSON(t, pid, args...)
	sleepers := 0
	for i := range d.Threads {
		names := d.Threads[i].functions()
		at := slices.Index(names, "thread_main")
		if at < 0 {
			continue
		}
		sleepers++
		if !slices.Contains(names[:at], "descend") || !slices.Contains(names[:at], "bottom") {
			t.Errorf("thread %d: %v lacks bottom or descend", d.Threads[i].TID, names)
		}
		for k, f := range d.Threads[i].Stack.Frames {
			if slices.Contains([]string{"bottom", "descend", "thread_main"}, names[k]) &&
				(filepath.Base(f.File) != "threads.c" || f.Line <= 0) {
				t.Errorf("thread %d: %s at %q line %d, want a line of threads.c", d.Threads[i].TID, names[k],
					f.File, f.Line)
			}
		}
	}
	if sleepers != 2 {
		t.Errorf("%d threads show thread_main, want 2\n%s", sleepers, show(t, "-p", strconv.Itoa(pid)).stdout)
	}
	return d
}

// The C library of Debian has no symbols but those it exports; start_thread is in the
// debug file that libc6-dbg brings.
func TestNamesOfSystemDebugFile(t *testing.T) {
	p := runTarget(t, "threads", "2", "3")
	path := sh(t, room(t), byBuildID+
		`f=/usr/lib/debug/${debug#./}; readelf -sW "$f" 2>/dev/null | grep -qw start_thread; echo "$f"`, libc(t), ".")
	count := func(d *dump, want func(frame) bool) (n int) {
		for i := range d.Threads {
			for _, f := range d.Threads[i].Stack.Frames {
				if want(f) {
					n++
				}
			}
		}
		return n
	}
	named := func(f frame) bool { return f.Function == "start_thread" }
	lined := func(f frame) bool {
		return f.Function == "start_thread" && f.Line > 0 && filepath.Base(f.File) == "pthread_create.c"
	}
	d := dumpJSON(t, p.pid)
	if got := count(d, named); got != 2 {
		t.Errorf("start_thread in %d frames, want 2", got)
	}
	at := slices.IndexFunc(d.Modules, func(m moduleOfDump) bool { return m.Path == libcPath(d) })
	if at < 0 || d.Modules[at].DebugFile != path {
		t.Errorf("debug file of %d in %+v, want %s", at, d.Modules, path)
	}
	if d.Modules[at].Unread == "" && count(d, lined) == 0 {
		t.Error("lines of the C library are left out, and not reported")
	}
	if got := count(dumpJSON(t, p.pid, "--names=full"), lined); got != 2 {
		t.Errorf("--names=full: a line of pthread_create.c in %d frames, want 2", got)
	}
	if got := count(dumpJSON(t, p.pid, "--debug-dir", "/nonexistent"), named); got != 2 {
		t.Errorf("one more --debug-dir: start_thread in %d frames, want 2", got)
	}
}

// libcPath is the path of the C library among the modules of d.
func libcPath(d *dump) string {
	for _, m := range d.Modules {
		if strings.HasPrefix(filepath.Base(m.Path), "libc.so") {
			return m.Path
		}
	}
	return ""
}

// launchAsleep starts cmd, a form of threads.c, and waits until all of it sleeps.
func launchAsleep(t *testing.T, cmd *exec.Cmd) *target {
	t.Helper()
	p := launch(t, cmd).ready(t)
	asleep(t, p.pid)
	return p
}

func TestStrippedProgram(t *testing.T) {
	whole := program(t, "threads")
	for _, c := range []struct{ name, script string }{
		{"link to a file beside it",
			`objcopy --only-keep-debug "$1" t.debug; strip -o t "$1"; objcopy --add-gnu-debuglink=t.debug t`},
		{"link to a file in .debug",
			`mkdir .debug; objcopy --only-keep-debug "$1" .debug/t.debug; strip -o t "$1"
				objcopy --add-gnu-debuglink=.debug/t.debug t`},
		{"link, and no build ids: the checksum counts",
			`objcopy --remove-section .note.gnu.build-id "$1" w; objcopy --only-keep-debug w t.debug; strip -o t w
				objcopy --add-gnu-debuglink=t.debug t; rm w`},
		{"compressed debug file",
			`objcopy --only-keep-debug --compress-debug-sections=zlib "$1" t.debug; strip -o t "$1"
				objcopy --add-gnu-debuglink=t.debug t`},
		{"compressed by zstd",
			`objcopy --only-keep-debug --compress-debug-sections=zstd "$1" t.debug; strip -o t "$1"
				objcopy --add-gnu-debuglink=t.debug t`},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := room(t)
			sh(t, dir, c.script, whole)
			p := launchAsleep(t, exec.Command(filepath.Join(dir, "t"), "2", "5"))
			checkLined(t, p.pid)
			var bare []string
			for _, th := range dumpJSON(t, p.pid, "--names=functions").Threads {
				for _, f := range th.Stack.Frames {
					if f.File != "" || f.Line != 0 {
						t.Errorf("--names=functions: %+v", f)
					}
					bare = append(bare, f.Function)
				}
			}
			if !slices.Contains(bare, "descend") {
				t.Errorf("--names=functions: no descend in %v", bare)
			}
		})
	}
	t.Run("--debug-dir", func(t *testing.T) {
		dir := room(t)
		stripTo(t, whole, filepath.Join(dir, "t"), filepath.Join(dir, "second"))
		p := launchAsleep(t, exec.Command(filepath.Join(dir, "t"), "2", "5"))
		checkLined(t, p.pid, "--debug-dir", filepath.Join(dir, "first"), "--debug-dir", filepath.Join(dir, "second"))
		relative := exec.Command("sh", "-c", `cd "$0" && exec "$@"`, dir, fpstack, "-p", strconv.Itoa(p.pid),
			"--debug-dir", "second")
		if out, err := relative.Output(); err != nil || !strings.Contains(string(out), " descend ") {
			t.Errorf("a relative --debug-dir: %v\n%s", err, out)
		}
	})
}

// A debug file of another build would give wrong names: it is refused, and that is reported.
func TestForeignDebugFile(t *testing.T) {
	for _, c := range []struct{ name, script, message string }{
		{"another build id", byBuildID + `objcopy --only-keep-debug "$3" "$debug"; strip -o t "$1"`, "its build id is"},
		{"another checksum",
			`objcopy --remove-section .note.gnu.build-id "$1" w; objcopy --remove-section .note.gnu.build-id "$3" x
objcopy --only-keep-debug w t.debug; strip -o t w; objcopy --add-gnu-debuglink=t.debug t
	objcopy --only-keep-debug x t.debug; rm w x`, "its checksum is"},
		{"no ELF file", byBuildID + `echo nothing >"$debug"; strip -o t "$1"`, "not an ELF"},
	} {
		t.Run(c.name, func(t *testing.T) {
			dir := room(t)
			sh(t, dir, c.script, program(t, "threads"), "dbg", program(t, "signals"))
			p := launchAsleep(t, exec.Command(filepath.Join(dir, "t"), "2", "5"))
			d, o := tryJSON(t, p.pid, "--debug-dir", filepath.Join(dir, "dbg"))
			if o.status != 1 || strings.Count(o.stderr, c.message) != 1 {
				t.Errorf("status %d and %q, want 1 and one time %q", o.status, o.stderr, c.message)
			}
			for i := range d.Threads {
				for _, f := range d.Threads[i].Stack.Frames {
					if f.Module != nil && filepath.Base(d.Modules[*f.Module].Path) == "t" &&
						(f.Function != "" && !strings.HasSuffix(f.Function, "@plt") || f.File != "") {
						t.Errorf("frame %+v, want no name: the right debug file is not there", f)
					}
				}
			}
		})
	}
}

// tree makes the file system of a container: a program with its libraries, stripped, and their
// debug files, which are nowhere else. It has a folder for /proc, as the program reads it.
func tree(t *testing.T, name string) string {
	t.Helper()
	root := room(t)
	path := program(t, name)
	sh(t, root, `mkdir -p proc usr/lib/debug
for f in $( (ldd "$1" 2>/dev/null || true; readelf -lW "$1") | grep -oE '/[^ :]+' | tr -d ']' | sort -u); do
[ -f "$f" ] || continue; mkdir -p ".$(dirname "$f")"; cp -L "$f" ".$f"; done`, path)
	stripTo(t, path, filepath.Join(root, "inside"), filepath.Join(root, "usr/lib/debug"))
	return root
}

const inRoot = `mount --bind /proc "$1/proc" && exec chroot "$1" /inside 2 5`

func TestDebugFilesInRootOfTarget(t *testing.T) {
	asRoot(t)
	for _, c := range []struct{ name, program string }{
		{"Debian", "threads"},
		{"musl", "threads-musl"},
		{"musl, static", "threads-musl-static"},
	} {
		t.Run(c.name, func(t *testing.T) {
			root := tree(t, c.program)
			p := launchAsleep(t, exec.Command(installed(t, "unshare"), "-m", "sh", "-c", inRoot, "sh", root))
			checkLined(t, p.pid)
		})
	}
	t.Run("a debug file outside does not hide that inside", func(t *testing.T) {
		root, outside := tree(t, "threads-static"), room(t)
		sh(t, outside, byBuildID+`objcopy --only-keep-debug "$3" "$debug"`, filepath.Join(root, "inside"), outside,
			program(t, "signals"))
		sh(t, root, `mkdir -p ".$1" && cp -r usr/lib/debug/.build-id ".$1"`, outside)
		p := launchAsleep(t, exec.Command(installed(t, "unshare"), "-m", "sh", "-c", inRoot, "sh", root))
		checkLined(t, p.pid, "--debug-dir", outside)
	})
	t.Run("links do not lead out of it", func(t *testing.T) {
		root := tree(t, "threads-static")
		sh(t, root, `mv usr/lib/debug kept; ln -s /../../../kept usr/lib/debug`)
		p := launchAsleep(t, exec.Command(installed(t, "unshare"), "-m", "sh", "-c", inRoot, "sh", root))
		checkLined(t, p.pid)
	})
}

func TestDebugFilesOfDeletedAndReplaced(t *testing.T) {
	build := func(t *testing.T) (dir string, p *target) {
		dir = room(t)
		sh(t, dir, `objcopy --only-keep-debug "$1" t.debug; strip -o t "$1"; objcopy --add-gnu-debuglink=t.debug t`,
			program(t, "threads-static"))
		return dir, launchAsleep(t, exec.Command(filepath.Join(dir, "t"), "2", "5"))
	}
	t.Run("deleted program", func(t *testing.T) {
		dir, p := build(t)
		sh(t, dir, "rm t")
		checkLined(t, p.pid)
	})
	t.Run("replaced program, debug file of the old one", func(t *testing.T) {
		dir, p := build(t)
		sh(t, dir, `strip -o new "$1"; mv new t`, program(t, "signals"))
		checkLined(t, p.pid)
	})
	t.Run("program and debug file replaced", func(t *testing.T) {
		dir, p := build(t)
		sh(t, dir, `strip -o new "$1"; mv new t; objcopy --only-keep-debug "$1" new; mv new t.debug`,
			program(t, "signals"))
		d, o := tryJSON(t, p.pid)
		if o.status != 1 || !strings.Contains(o.stderr, "its build id is") {
			t.Errorf("status %d and %q, want 1 and a refusal", o.status, o.stderr)
		}
		for i := range d.Threads {
			for _, name := range d.Threads[i].functions() {
				if name != "?" {
					t.Errorf("name %q: it can only be of the program that took its place", name)
				}
			}
		}
	})
	t.Run("deleted library", func(t *testing.T) {
		dir := room(t)
		sh(t, dir, `cat >lib.c <<'X'
#include <stdio.h>
#include <unistd.h>
static __attribute__((noinline)) int inner(int n) { puts("R"); fflush(stdout); while (n) pause(); return n; }
int outer(int n) { return inner(n) + 1; }
X
cat >main.c <<'X'
int outer(int);
int main(int n, char **v) { (void)v; return outer(n) + 2; }
X
gcc -g -O1 -shared -fPIC -Wl,--build-id,-soname,libmine.so -o full.so lib.c
	objcopy --only-keep-debug full.so lib.debug; strip -o libmine.so full.so
objcopy --add-gnu-debuglink=lib.debug libmine.so; gcc -o main main.c ./libmine.so -Wl,-rpath,"$PWD"; rm full.so`)
		p := launchAsleep(t, exec.Command(filepath.Join(dir, "main")))
		sh(t, dir, "rm libmine.so")
		frames := dumpJSON(t, p.pid).Threads[0].Stack.Frames
		at := slices.IndexFunc(frames, func(f frame) bool { return f.Function == "inner" })
		if at < 0 || frames[at].Line != 3 || frames[at+1].Function != "outer" || frames[at+1].Line != 4 {
			t.Errorf("got %+v, want inner at line 3 in outer at line 4", frames)
		}
	})
}

func TestDebugFilesOnOverlay(t *testing.T) {
	asRoot(t)
	lower := tree(t, "threads-static")
	script := `cd "$2" && mount -t tmpfs none . && mkdir up work root &&
		mount -t overlay none -o "lowerdir=$1,upperdir=up,workdir=work" root || exit 42
mount --bind /proc root/proc && exec chroot root /inside 2 5`
	sh(t, lower, `unshare -m sh -c 'cd "$1" && mount -t tmpfs none . && mkdir l u w r &&
		mount -t overlay none -o lowerdir=l,upperdir=u,workdir=w r' sh "$1"`, room(t))
	p := launchAsleep(t, exec.Command(installed(t, "unshare"), "-m", "sh", "-c", script, "sh", lower, room(t)))
	checkLined(t, p.pid)
}

func TestDebugFilesInUserNamespace(t *testing.T) {
	if out, err := exec.Command("unshare", "-Urm", "true").CombinedOutput(); err != nil {
		t.Skipf("no user namespaces: %s", out)
	}
	root := tree(t, "threads-static")
	script := `mount --rbind /proc "$1/proc" && exec chroot "$1" /inside 2 5`
	t.Run("from outside", func(t *testing.T) {
		p := launchAsleep(t, exec.Command(installed(t, "unshare"), "-Urm", "sh", "-c", script, "sh", root))
		checkLined(t, p.pid)
	})
	t.Run("from inside", func(t *testing.T) {
		script := `"$1/inside" 2 5 >"$1/out" & until grep -q R "$1/out"; do sleep 0.01; done
			"$2" -p $! --debug-dir "$1/usr/lib/debug"; s=$?; kill $!; exit $s`
		o := execute(t, bound, installed(t, "unshare"), "-Ur", "sh", "-c", script, "sh", root, fpstack)
		if o.status != 0 || strings.Count(o.stdout, "threads.c:") < 7 || !strings.Contains(o.stdout, " thread_main ") {
			t.Errorf("status %d\n%s%s", o.status, o.stdout, o.stderr)
		}
	})
}

// inlined is a program of a library and a main program, both with inlined calls; one thread
// waits in the library.
const inlinedLibrary = `#include <cstdio>
#include <unistd.h>
namespace far {
struct Counter {
	long n = 0;
	__attribute__((always_inline)) inline void add(long k) {
		n += k;
		std::puts("R"); std::fflush(stdout);
		while (n) pause();
	}
};
static inline __attribute__((always_inline)) void twice(Counter &c, long k) {
	c.add(k);
	c.add(k + 1);
}
__attribute__((noinline)) long work(long k, long (*back)(long)) {
	Counter c;
	if (k > 3)
		return back(k - 1) + 1;
	twice(c, k);
	return c.n;
}
}
`

const inlinedMain = `namespace far { long work(long k, long (*back)(long)); }
static long again(long k);
template <class T> struct Caller {
	T value;
	__attribute__((always_inline)) inline T call() {
		return far::work(value,
			again) + 2;
	}
};
static inline __attribute__((always_inline)) long through(long k) {
	Caller<long> c{k};
	return c.call() * 3;
}
__attribute__((noinline)) static long again(long k) {
	return through(k) + 1;
}
int main(int n, char **) { return (int)again(n + 6); }
`

// gdbLines prints function and line of every frame, inlined ones too, innermost first.
const gdbLines = `
import gdb
f = gdb.newest_frame()
while f is not None:
    sal = f.find_sal()
    print("FRAME %s|%s|%d" % (f.name() or "", sal.symtab.filename.split("/")[-1] if sal.symtab else "", sal.line))
    f = f.older()
`

// TestLinesAsGDB compares function, file and line of every frame of a -g program with gdb.
func TestLinesAsGDB(t *testing.T) {
	t.Parallel()
	gdb := installed(t, "gdb")
	for _, options := range []string{"-O2", "-O0", "-O2 -gdwarf-4", "-O2 -fno-omit-frame-pointer -gz=zlib"} {
		t.Run(options, func(t *testing.T) {
			dir := room(t)
			for name, text := range map[string]string{"far.cc": inlinedLibrary, "main.cc": inlinedMain,
				"lines.py": gdbLines} {
				if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
					t.Fatal(err)
				}
			}
			sh(t, dir, `g++ -g `+options+` -shared -fPIC -Wl,-soname,libfar.so -o libfar.so far.cc; g++ -g `+options+
				` -o main main.cc ./libfar.so -Wl,-rpath,"$PWD"`)
			p := launchAsleep(t, exec.Command(filepath.Join(dir, "main")))
			o := execute(t, peerLimit, gdb, "-nx", "-q", "-batch", "-iex", "set auto-load off", "-p",
				strconv.Itoa(p.pid),
				"-ex", "set backtrace past-main on", "-ex", "set backtrace past-entry on", "-x",
				filepath.Join(dir, "lines.py"))
			var theirs, ours []string
			for line := range strings.Lines(o.stdout) {
				if rest, ok := strings.CutPrefix(strings.TrimSpace(line), "FRAME "); ok {
					theirs = append(theirs, rest)
				}
			}
			if len(theirs) < 8 {
				t.Skipf("gdb does not work here: it shows %d frames (has it Python?)\n%s", len(theirs), o.stderr)
			}
			d := dumpJSON(t, p.pid, "--names=full")
			for i, f := range d.Threads[0].Stack.Frames {
				name, _, _ := strings.Cut(f.Function, "(")
				if i < len(theirs) && f.Module != nil {
					// gdb names by DWARF, we by the symbol that people call first: pause is __libc_pause.
					m := d.Modules[*f.Module]
					if other, _, _ := strings.Cut(theirs[i], "|"); symbolsOf(m.Path, m.BuildID).alias(name, other) {
						name = other
					}
				}
				file := ""
				if f.File != "" {
					file = filepath.Base(f.File)
				}
				ours = append(ours, fmt.Sprintf("%s|%s|%d", name, file, f.Line))
			}
			if !slices.Equal(ours, theirs) {
				t.Errorf("ours:\n  %s\ngdb's:\n  %s", strings.Join(ours, "\n  "), strings.Join(theirs, "\n  "))
			}
		})
	}
}

func TestSourceLines(t *testing.T) {
	dir := room(t)
	text := `#include <stdio.h>
#include <unistd.h>
static volatile int staying = 1;
int main(void) {
	puts("R"); fflush(stdout);
	while (staying)
		pause(); // ` + "\x1b[2J" + `
	return 0;
}
`
	if err := os.WriteFile(filepath.Join(dir, "a.c"), []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	sh(t, dir, `touch -d "2 hours ago" a.c; gcc -g -O1 -o a "$PWD/a.c"`)
	p := launchAsleep(t, exec.Command(filepath.Join(dir, "a")))
	pid := strconv.Itoa(p.pid)
	got := func(args ...string) string {
		t.Helper()
		out := execute(t, bound, fpstack, append(args, "-p", pid)...)
		if out.status != 0 || out.stderr != "" {
			t.Errorf("%v: status %d, %s", args, out.status, out.stderr)
		}
		checkClean(t, out.stdout)
		return out.stdout
	}
	const want = "             6      while (staying)\n        >    7          pause(); // \\x1b[2J\n" +
		"             8      return 0;\n"
	if out := got("--source"); !strings.Contains(out, want) || strings.Contains(out, "was changed") {
		t.Errorf("want\n%s\nin\n%s", want, out)
	}
	later := time.Now().Add(time.Hour)
	if err := os.Chtimes(filepath.Join(dir, "a.c"), later, later); err != nil {
		t.Fatal(err)
	}
	if out := got("--source"); strings.Count(out, "a.c was changed after the program was built") != 1 {
		t.Errorf("a newer file is not reported once:\n%s", out)
	}
	sh(t, dir, `rm a.c; mkfifo a.c`) // opening it for reading would wait for ever
	if out := got("--source"); strings.Contains(out, "staying") || !strings.Contains(out, "a.c:7") {
		t.Errorf("a pipe in place of the file:\n%s", out)
	}
	if o := show(t, "--source", "-f", "json", "-p", pid); o.status != 64 {
		t.Errorf("--source with JSON: status %d, want 64", o.status)
	}
}

func TestKernelStacks(t *testing.T) {
	p := runTarget(t, "threads", "2", "3")
	pid := strconv.Itoa(p.pid)
	stack, err := os.ReadFile("/proc/" + pid + "/stack")
	if err != nil || len(stack) == 0 {
		t.Skipf("no kernel stacks to be read here: %v", err)
	}
	out := text(t, "--kernel", "-p", pid, "-t", pid)
	var want, got []string
	for line := range strings.Lines(string(stack)) {
		want = append(want, strings.TrimPrefix(strings.TrimSpace(line), "[<0>] "))
	}
	for line := range strings.Lines(out) {
		if f := strings.Fields(line); len(f) == 2 && f[0] == "kernel" {
			got = append(got, f[1])
		}
	}
	if !slices.Equal(got, want) {
		t.Errorf("got %q, the kernel says %q\n%s", got, want, out)
	}
	if out := text(t, "-p", pid); strings.Contains(out, "  kernel ") {
		t.Errorf("kernel frames without the flag:\n%s", out)
	}
	function, _, _ := strings.Cut(want[0], "+")
	if out := text(t, "--kernel", "-f", "folded", "-p", pid); !strings.Contains(out, function+"_[k] ") {
		t.Errorf("folded: no %s as leaf in\n%s", function, out)
	}
	nobody := []string{"--reuid", "65534", "--regid", "65534", "--clear-groups"}
	if os.Geteuid() != 0 {
		return
	}
	script := `"$0" 1000 & until [ "$(cut -d' ' -f3 /proc/$!/stat)" = S ] &&
		[ "$(tr -d '\0' </proc/$!/cmdline)" != "$(tr -d '\0' </proc/$$/cmdline)" ]; do sleep 0.01; done
		"$1" --kernel -p $!; s=$?; kill $!; exit $s`
	o := execute(t, bound, installed(t, "setpriv"), append(nobody, "sh", "-c", script, installed(t, "sleep"),
		fpstack)...)
	if o.status != 1 || strings.Count(o.stderr, "kernel stacks cannot be read") != 1 ||
		!strings.Contains(o.stdout, "  in ") {
		t.Errorf("without the right: status %d, want 1 and a message\n%s%s", o.status, o.stdout, o.stderr)
	}
}

// TestTrampolineNames: a signal trampoline was not called, so that its name is that of its first byte.
func TestTrampolineNames(t *testing.T) {
	for _, tt := range []struct{ program, want string }{
		{"signals-static", "__restore_rt"}, // the byte before is padding
		{"signals-m32", "__kernel_sigreturn"},
	} {
		t.Run(tt.program, func(t *testing.T) {
			d := dumpJSON(t, runTarget(t, tt.program, "raise").pid)
			var got []string
			for _, f := range d.Threads[0].Stack.Frames {
				if f.Kind == "signal" {
					got = append(got, f.Function)
				}
			}
			if len(got) != 1 || got[0] != tt.want {
				t.Errorf("trampolines are %q, want %q alone", got, tt.want)
			}
		})
	}
}
