//go:build linux

package live

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"reflect"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fpstack/fpstack/snapshot/corefile"
	"github.com/fpstack/fpstack/tracer"
)

// crashed runs a command that dies in a folder of its own and returns the core that it left there. It skips where the
// kernel gives cores to a program, or puts them elsewhere: that is not changed for a test.
func crashed(t testing.TB, command ...string) string {
	t.Helper()
	pattern, err := os.ReadFile("/proc/sys/kernel/core_pattern")
	if err != nil || !strings.HasPrefix(string(pattern), "core") || strings.Contains(string(pattern), "/") {
		t.Skipf("kernel.core_pattern is %q: no core in the folder of the program (%v)", pattern, err)
	}
	dir := room(t)
	cmd := exec.Command("sh", append([]string{"-c", `ulimit -c unlimited && exec "$@"`, "sh"}, command...)...)
	cmd.Dir = dir
	cmd.Env = append(os.Environ(), "GOTRACEBACK=crash")
	cmd.SysProcAttr = &syscall.SysProcAttr{Pdeathsig: syscall.SIGKILL}
	if err := start(cmd); err != nil {
		t.Fatal(err)
	}
	cmd.Wait()
	cores, _ := filepath.Glob(filepath.Join(dir, "*core*"))
	cores = slices.DeleteFunc(cores, func(name string) bool { // of QEMU itself, beside that of its program
		return filepath.Base(name) == "core" && len(cores) > 1
	})
	if len(cores) != 1 {
		t.Skipf("%q left %d cores (%v): a limit, or a container", command, len(cores), cmd.ProcessState)
	}
	return cores[0]
}

// inOrder reports the first of the words that text does not have behind the one before it.
func inOrder(text string, words []string) string {
	for _, w := range words {
		at := strings.Index(text, w)
		if at < 0 {
			return w
		}
		text = text[at+len(w):]
	}
	return ""
}

// TestCoreOfKernel: what the kernel leaves of programs that die in different ways. The thread that met the signal is
// the first, with its signal and its whole stack.
func TestCoreOfKernel(t *testing.T) {
	for _, row := range []struct {
		program string
		args    []string
		words   []string // of the first thread, in their order
		all     []string // anywhere
		status  int      // 1 where the C library has no names for all its functions
	}{
		{"crash", []string{"null"}, []string{"SIGSEGV at 0x10 (address not mapped)", "#0", "fall+", "fall+", "fall+",
			"fall+", "die", "main+", "_start+"}, []string{"pause()", "sleeper+", "computer+"}, 0},
		{"crash", []string{"abort"}, []string{"SIGABRT (sent by itself)", "abort+", "die", "main+", "_start+"}, nil, 0},
		{"crash", []string{"handler"}, []string{"SIGSEGV at 0x8 (", "fall+", "handler+", "(signal)", "raise+", "die",
			"main+", "_start+"}, nil, 0},
		{"crash-static", []string{"null"}, []string{"SIGSEGV at 0x10", "fall+", "die", "main+", "_start+"}, nil, 0},
		{"crash-m32", []string{"null"}, []string{"SIGSEGV at 0x10", "fall+", "fall+", "die", "main+", "_start+"},
			[]string{"pause", "sleeper+", "computer+"}, 0},
		{"crash-cc", []string{"fault"}, []string{"SIGSEGV at 0x20", "Guard::~Guard", "guarded", "main+", "_start+"},
			nil, 0},
		{"crash-cc", []string{"uncaught"}, []string{"SIGABRT", "std::terminate", "__cxa_throw", "thrower", "thrower",
			"thrower", "main+", "_start+"}, nil, 0},
		{"crash-rust", nil, []string{"SIGSEGV at 0x18", "crash::fall", "crash::fall", "crash::main", "main+"}, nil, 0},
		{"crash-rust", []string{"panic"}, []string{"SIGABRT", "abort", "core::panicking::panic_fmt", "crash::main"},
			nil, 0},
		{"crash-go", nil, []string{"SIGABRT", "runtime.sigpanic", "main.fall+", "main.fall+", "main.fall+",
			"main.fall+", "main.fall+", "main.main+", "runtime.main", "runtime.goexit"},
			[]string{"[chan receive]", "main.parked+", "created by main.main in goroutine 1"}, 0},
	} {
		t.Run(row.program+strings.Join(row.args, "-"), func(t *testing.T) {
			t.Parallel()
			core := crashed(t, append([]string{program(t, row.program)}, row.args...)...)
			o := show(t, core, "-v")
			firstOf := func(text string) string {
				first, _, _ := strings.Cut(text[strings.Index(text, "\nthread ")+1:], "\nthread ")
				return first
			}
			first, short := firstOf(o.stdout), firstOf(show(t, core).stdout)
			if missing := inOrder(first, row.words); missing != "" || o.status != row.status {
				t.Errorf("status %d, %s\nfirst thread:\n%s\nwant %q there", o.status, o.stderr, first, missing)
			}
			if missing := inOrder(o.stdout, row.all); missing != "" {
				t.Errorf("%s\nwant %q there", o.stdout, missing)
			}
			if strings.Contains(short, "stack cut") ||
				strings.Contains(short, "(unsure)") && row.program != "crash-go" {
				t.Errorf("the stack is not sure to its end:\n%s", short)
			}
		})
	}
}

// TestCoreOfOverflow: the most frequent of all crashes without a message. SP is below the stack, or in its guard.
func TestCoreOfOverflow(t *testing.T) {
	for _, row := range []struct{ how, last string }{{"overflow", "_start"}, {"overflow-thread", "clone"}} {
		t.Run(row.how, func(t *testing.T) {
			t.Parallel()
			core := crashed(t, program(t, "crash"), row.how)
			o := show(t, core, "--max-frames", "0", "-f", "json")
			d := decode(t, o.stdout)[0]
			names := d.Threads[0].functions()
			if n := len(names); n < 10_000 || names[0] != "overflow" || !strings.HasPrefix(names[n-1], row.last) ||
				!d.Threads[0].Stack.Complete {
				t.Errorf("%d frames, %q to %q; %s, %s", n, names[0], names[n-1], d.Threads[0].Stack.Detail, o.stderr)
			}
		})
	}
}

func TestCoreOfNode(t *testing.T) {
	core := crashed(t, installed(t, "node"), "-e",
		"function inner() { process.abort() }\nfunction outer() { inner() }\nsetTimeout(outer, 1)")
	o := show(t, core, "-v")
	words := []string{"SIGABRT", "node::Abort", "inner  [eval]:1", "outer  [eval]:2", "uv_run", "main"}
	if missing := inOrder(o.stdout, words[:len(words)-1]); missing != "" || o.status != 0 {
		t.Errorf("status %d, %s\n%s\nwant %q there", o.status, o.stderr, o.stdout, missing)
	}
}

// TestCoreOfQEMU: a core of another architecture, without NT_FILE, whose text is not in it.
func TestCoreOfQEMU(t *testing.T) {
	crash := program(t, "crash-go-arm64")
	core := crashed(t, installed(t, "qemu-aarch64-static", "qemu-aarch64"), crash)
	o := show(t, core, crash, "-v")
	words := []string{"SIGABRT", "runtime.sigpanic", "main.fall+", "main.fall+", "main.fall+", "main.fall+",
		"main.fall+", "main.main+", "runtime.goexit", "goroutine 1 [running]", "main.parked+"}
	if missing := inOrder(o.stdout, words); missing != "" || o.status != 0 ||
		!strings.Contains(o.stdout, "cannot be told") {
		t.Errorf("status %d, %s\n%s\nwant %q there", o.status, o.stderr, o.stdout, missing)
	}
	if o := show(t, core); strings.Contains(o.stdout, "main.fall") {
		t.Errorf("a file that nothing proves was believed:\n%s", o.stdout)
	}
}

// dumped writes a core of a process that goes on by gcore.
func dumped(t testing.TB, pid int) string {
	t.Helper()
	gcore := installed(t, "gcore")
	prefix := filepath.Join(room(t), "core")
	o := execute(t, bound, gcore, "-o", prefix, strconv.Itoa(pid))
	file := prefix + "." + strconv.Itoa(pid)
	if _, err := os.Stat(file); err != nil {
		t.Skipf("gcore does not work here: %s", o.stderr)
	}
	return file
}

// ownCore writes a core of a process that goes on by our own writer.
func ownCore(t testing.TB, pid int) string {
	t.Helper()
	file, err := os.Create(filepath.Join(room(t), "core"))
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	p, err := tracer.Open(pid, tracer.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer p.Close()
	var got corefile.Result
	write := func(c *corefile.Process, m corefile.Memory) {
		got, err = corefile.Write(file, c, m, corefile.Options{Limit: 4 << 30})
	}
	snap, stopErr := p.Snapshot(t.Context(), tracer.StopOptions{Core: write, CoreTime: time.Minute})
	if err := errors.Join(err, stopErr); err != nil || got.Cut != nil || got.Threads != len(snap.Threads) {
		t.Fatalf("%v; %+v of %d threads, %q", err, got, len(snap.Threads), snap.Problems)
	}
	return file.Name()
}

// notInCores are members of the document of a dump that a core cannot have.
var notInCores = []string{"time", "stopped_ns", "core", "name", "state", "wchan", "fd", "waits_ns", "comm",
	"problems", "notes", "wait", "waits"}

// sameButFor drops what cores cannot have out of a document.
func sameButFor(v any) any {
	switch v := v.(type) {
	case map[string]any:
		for _, name := range notInCores {
			delete(v, name)
		}
		if note, ok := v["note"].(string); ok { // of a core nothing runs
			const late = "read while the thread ran again"
			if v["note"] = strings.TrimSuffix(strings.TrimSuffix(note, late), "; "); v["note"] == "" {
				delete(v, "note")
			}
		}
		for name := range v {
			v[name] = sameButFor(v[name])
		}
	case []any:
		for i := range v {
			v[i] = sameButFor(v[i])
		}
	}
	return v
}

// alike reads a dump and drops what cores cannot have.
func alike(t testing.TB, text string) any {
	t.Helper()
	var v any
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	return sameButFor(v)
}

// TestCoreIsLikeLive: a process that is stopped by a signal, dumped live, of our own core and of gcore's: the same.
func TestCoreIsLikeLive(t *testing.T) {
	for _, row := range []struct {
		program string
		args    []string
	}{
		{"crash", nil}, {"threads-m32", []string{"2", "3"}}, {"threads-static-pie", []string{"2", "3"}},
		{"threads-musl", []string{"2", "3"}}, {"threads-rust", []string{"2", "3"}}, {"threads-go", nil},
		{"signals", nil}, {"except", nil},
	} {
		t.Run(row.program, func(t *testing.T) {
			t.Parallel()
			p := launch(t, exec.Command(program(t, row.program), row.args...)).ready(t)
			compareWithLive(t, p)
		})
	}
}

// forgetCalls drops system calls that are known of the process and not of its core: the registers do not prove them,
// as when the call had returned already.
func forgetCalls(live, core any) {
	ours, _ := live.(map[string]any)["threads"].([]any)
	theirs, _ := core.(map[string]any)["threads"].([]any)
	for i := range min(len(ours), len(theirs)) {
		if a, b := ours[i].(map[string]any), theirs[i].(map[string]any); b["syscall"] == nil {
			delete(a, "syscall")
		}
	}
}

func TestCoreOfGoroutinesIsLikeLive(t *testing.T) {
	t.Parallel()
	compareWithLive(t, startRoutines(t, program(t, "routines-cgo"), "30").target)
}

// compareWithLive stops p and compares what is shown of it with what is shown of its core.
func compareWithLive(t *testing.T, p *target, args ...string) {
	t.Helper()
	if err := syscall.Kill(p.pid, syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	await(t, "the process is stopped", func() bool {
		stat, _ := os.ReadFile("/proc/" + strconv.Itoa(p.pid) + "/status")
		return regexp.MustCompile(`(?m)^State:\s+T`).Match(stat)
	})
	args = append(args, "-f", "json", "--max-frames", "0")
	live := show(t, append([]string{"-p", strconv.Itoa(p.pid)}, args...)...)
	own := ownCore(t, p.pid)
	compare(t, live, show(t, append([]string{own}, args...)...))
	compare(t, live, show(t, append([]string{dumped(t, p.pid)}, args...)...))
}

func compare(t *testing.T, live, core outcome) {
	t.Helper()
	if live.status > 1 || core.status > 1 {
		t.Fatalf("status %d live: %s\nstatus %d of the core: %s", live.status, live.stderr, core.status, core.stderr)
	}
	a, b := alike(t, live.stdout), alike(t, core.stdout)
	forgetCalls(a, b)
	if !reflect.DeepEqual(a, b) {
		left, _ := json.MarshalIndent(a, "", " ")
		right, _ := json.MarshalIndent(b, "", " ")
		t.Errorf("live and of a core differ:\n%s", firstDifference(string(left), string(right)))
	}
}

// firstDifference shows the first lines in which two texts differ.
func firstDifference(a, b string) string {
	left, right := strings.Split(a, "\n"), strings.Split(b, "\n")
	for i := range min(len(left), len(right)) {
		if left[i] != right[i] {
			from := max(0, i-12)
			return strings.Join(left[from:min(len(left), i+8)], "\n") + "\n--- the core:\n" +
				strings.Join(right[from:min(len(right), i+8)], "\n")
		}
	}
	return "one is longer"
}

// TestCoreOfNodeIsLikeLive: what V8 is doing, with the objects that a live dump copies in the stop.
func TestCoreOfNodeIsLikeLive(t *testing.T) {
	t.Parallel()
	script := filepath.Join(room(t), "spin.js")
	text := `function inner(n) { let s = 0; for (let i = 0; i < 1e6; i++) s += i % n; return s }
function outer() { for (;;) inner(7) }
for (let i = 0; i < 100; i++) inner(3)
console.log("R")
setTimeout(outer)
`
	if err := os.WriteFile(script, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	p := launch(t, exec.Command(installed(t, "node"), script)).ready(t)
	await(t, "outer runs", func() bool {
		return strings.Contains(execute(t, bound, fpstack, strconv.Itoa(p.pid)).stdout, "outer")
	})
	compareWithLive(t, p)
}

// TestCoreFitsSchema: the document of a core is one of a dump.
func TestCoreFitsSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../docs/schema/fpstack.dump.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	core := crashed(t, program(t, "crash"), "null")
	o := show(t, core, "-f", "json")
	checkSchema(t, schema, o.stdout)
	for _, word := range []string{`"core": true`, `"name": "SIGSEGV"`, `"address": "0x10"`} {
		if !strings.Contains(o.stdout, word) {
			t.Errorf("no %s in\n%s", word, o.stdout)
		}
	}
}
