//go:build linux

package live

import (
	"bytes"
	"encoding/json"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// fetched gives the path of a program that a script has fetched below testdata/bin.
func fetched(t testing.TB, name, script string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join("../../testdata/bin", name))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat(path); err != nil {
		t.Skipf("%s is not there: %s says why", name, script)
	}
	return path
}

func node22(t testing.TB) string { return fetched(t, "node/22.23.3/bin/node", "scripts/build-node") }

// source gives the path of a program of testdata/live that is interpreted.
func source(t testing.TB, name string) string {
	t.Helper()
	path, err := filepath.Abs("../../testdata/live/" + name)
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// python312 gives the path of a Python that has -X perf.
func python312(t testing.TB) string {
	t.Helper()
	found, _ := filepath.Glob(filepath.Join(os.Getenv("HOME"), ".pyenv/versions/3.1[2-9]*/bin/python3"))
	for _, name := range []string{"python3", "python3.12", "python3.13", "python3.14"} {
		if path, err := exec.LookPath(name); err == nil {
			found = append(found, path)
		}
	}
	for _, path := range found {
		if exec.Command(path, "-X", "perf", "-c", "import sys; assert sys.version_info >= (3, 12)").Run() == nil {
			return path
		}
	}
	t.Skip("no Python from 3.12 on is installed")
	return ""
}

// mapped reads a perf map as a person would: the last line that has an address.
type mapped []struct {
	start, size uint64
	name        string
}

func readMap(t testing.TB, path string) (m mapped) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for line := range strings.Lines(string(data)) {
		f := strings.SplitN(strings.TrimSuffix(line, "\n"), " ", 3)
		if len(f) < 3 {
			continue
		}
		start, err1 := strconv.ParseUint(strings.TrimPrefix(f[0], "0x"), 16, 64)
		size, err2 := strconv.ParseUint(f[1], 16, 64)
		if err1 == nil && err2 == nil {
			m = append(m, struct {
				start, size uint64
				name        string
			}{start, size, f[2]})
		}
	}
	return m
}

func (m mapped) name(a uint64) string {
	for _, l := range slices.Backward(m) {
		if a-l.start < l.size {
			return l.name
		}
	}
	return ""
}

// lookup is the address to look f up by.
func (f *frame) lookup(t testing.TB) uint64 {
	t.Helper()
	a, err := strconv.ParseUint(strings.TrimPrefix(f.Address, "0x"), 16, 64)
	if err != nil {
		t.Fatal(err)
	}
	if !f.Interrupted {
		a--
	}
	return a
}

// named lists the functions of a kind in all stacks of d, and checks each with the map.
func (m mapped) named(t testing.TB, d *dump, kind string) (functions []string) {
	t.Helper()
	for _, th := range d.Threads {
		for _, f := range th.Stack.Frames {
			if f.Kind != kind || f.Address == "" { // a function that CPython's own frames show
				continue
			}
			functions = append(functions, f.Function)
			want := m.name(f.lookup(t))
			if f.Linkage != want && !(kind == "dotnet" && strings.Contains(want, " "+withoutArguments(f.Linkage)+"(")) {
				t.Errorf("%s is named %q (%q), its perf map says %q", f.Address, f.Function, f.Linkage, want)
			}
		}
	}
	return functions
}

// withoutArguments is the raw name of a method of .NET as it is in a perf map between the type that is returned and the
// signature: without the generic arguments of the method itself.
func withoutArguments(name string) string {
	if i := strings.Index(name, "::"); i >= 0 {
		method, _, _ := strings.Cut(name[i:], "[")
		return name[:i] + method
	}
	return name
}

// pythonChain are the functions of testdata/live/hot.py, innermost first.
var pythonChain = []string{"inner", "A.middle", "outer.<locals>.<lambda>", "outer", "main", "<module>"}

// TestPerfMapOfPython: the Python functions are on the stack, in their order, in 20 dumps.
func TestPerfMapOfPython(t *testing.T) {
	t.Parallel()
	p := launch(t, exec.Command(python312(t), "-X", "perf", source(t, "hot.py"))).ready(t)
	path := fmt.Sprintf("/tmp/perf-%d.map", p.pid)
	defer os.Remove(path)
	whole := 0
	for range 20 {
		d := dumpJSON(t, p.pid) // before the map is read: it grows
		got := readMap(t, path).named(t, d, "python")
		if !slices.Equal(got, pythonChain[len(pythonChain)-min(len(got), len(pythonChain)):]) {
			t.Errorf("got %q, want the end of %q", got, pythonChain)
		}
		if len(got) == len(pythonChain) {
			whole++
		}
		if !d.Threads[0].Stack.Complete {
			t.Errorf("the stack ends early: %s", d.Threads[0].Stack.Detail)
		}
	}
	if whole < 15 {
		t.Errorf("inner is in %d of 20 dumps", whole)
	}
}

// TestPerfMapInContainer: number and folder are those of the process, and a file of ours with its name is not read.
func TestPerfMapInContainer(t *testing.T) {
	asRoot(t)
	cmd := exec.Command("sh", "-c", `mount -t tmpfs none /tmp && exec "$@"`, "sh", python312(t), "-X", "perf",
		source(t, "hot.py"))
	cmd.SysProcAttr = &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWPID | syscall.CLONE_NEWNS}
	p := launch(t, cmd).ready(t)
	inside := fmt.Sprintf("/proc/%d/root/tmp/perf-1.map", p.pid)
	forged := fmt.Sprintf("/tmp/perf-%d.map", p.pid)
	if err := os.WriteFile(forged, []byte("0 7fffffffffff forged\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	defer os.Remove(forged)
	for range 5 {
		d := dumpJSON(t, p.pid)
		if got := readMap(t, inside).named(t, d, "python"); !slices.Contains(got, "main") {
			t.Errorf("functions %q, want main among them", got)
		}
	}
	if err := os.Chown(inside, 12345, 12345); err != nil {
		t.Fatal(err)
	}
	d, o := tryJSON(t, p.pid)
	if d == nil || o.status != 1 {
		t.Fatalf("status %d, want 1: names are missing\n%s", o.status, o.stderr)
	}
	if got := readMap(t, inside).named(t, d, "python"); len(got) > 0 {
		t.Errorf("names of a file of another user: %q", got)
	}
	if !slices.ContainsFunc(d.Problems, func(s string) bool { return strings.Contains(s, "belongs to user 12345") }) {
		t.Errorf("problems %q do not say why", d.Problems)
	}
}

// TestJitdumpAtEnd: V8 writes the names of the newest functions when it ends. A recording waits for them: the file
// stays open.
func TestJitdumpAtEnd(t *testing.T) {
	t.Parallel()
	node, dir := node22(t), room(t)
	cmd := exec.Command(fpstack, "record", "--rate", "200", "-f", "json", "-o", "out.json", "--", node, "--perf-prof",
		source(t, "hot.js"), "2000")
	cmd.Dir = dir
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	var doc struct {
		Frames []struct {
			Function, File, Kind string
			Line                 int
		}
	}
	data, err := os.ReadFile(filepath.Join(dir, "out.json"))
	if err == nil {
		err = json.Unmarshal(data, &doc)
	}
	if err != nil {
		t.Fatal(err)
	}
	lines := map[int]bool{}
	for _, f := range doc.Frames {
		if f.Kind == "javascript" && f.Function == "inner" && f.File == source(t, "hot.js") {
			lines[f.Line] = true
		}
	}
	if !lines[7] || len(lines) != 1 {
		t.Errorf("inner is in the lines %v, want 7", lines)
	}
}

// TestPerfMapOfDotnet: methods of .NET are named by what the runtime knows of them, in its own way of writing them,
// also where they are in its perf map. The program answers requests meanwhile.
func TestPerfMapOfDotnet(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(fetched(t, "dotnet/10.0.9/azmcp", "scripts/build-dotnet"), "server", "start")
	cmd.Dir = room(t)
	cmd.Env = append(os.Environ(), "DOTNET_PerfMapEnabled=1", "AZURE_MCP_COLLECT_TELEMETRY=false",
		"DOTNET_BUNDLE_EXTRACT_BASE_DIR="+cmd.Dir, "HOME="+cmd.Dir)
	in, err := cmd.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	p := launch(t, cmd)
	path := fmt.Sprintf("/tmp/perf-%d.map", p.pid)
	defer os.Remove(path)
	ask := func(text string) { fmt.Fprintln(in, text) }
	ask(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2024-11-05","capabilities":{},` +
		`"clientInfo":{"name":"test","version":"1"}}}`)
	p.line(t)
	ask(`{"jsonrpc":"2.0","method":"notifications/initialized"}`)
	go func() {
		for i := 2; i < 1000; i++ {
			if _, err := fmt.Fprintf(in, `{"jsonrpc":"2.0","id":%d,"method":"tools/list"}`+"\n", i); err != nil {
				return
			}
		}
	}()
	go func() {
		for {
			if _, err := p.out.ReadString('\n'); err != nil {
				return
			}
		}
	}()
	functions := map[string]bool{}
	for end := time.Now().Add(patience); len(functions) < 20 && time.Now().Before(end); {
		d, o := tryJSON(t, p.pid)
		if d == nil {
			t.Fatalf("status %d\n%s", o.status, o.stderr)
		}
		for _, f := range readMap(t, path).named(t, d, "dotnet") {
			functions[f] = true
		}
	}
	if len(functions) < 20 {
		t.Errorf("%d methods are named, want 20: %v", len(functions), functions)
	}
	for f := range functions {
		ofCpp := strings.Contains(strings.ReplaceAll(f, ".global::", "."), "::") // C# names interfaces by global::
		if strings.HasPrefix(f, "[") || !strings.Contains(f, ".") || ofCpp {
			t.Errorf("method %q", f)
		}
	}
}

// perfFrames records the process with perf for a second, and returns each frame that it shows in the file path as
// address and name.
func perfFrames(t *testing.T, pid int, path string, write func()) (frames []perfFrame) {
	t.Helper()
	perf, data := installed(t, "perf"), filepath.Join(room(t), "perf.data")
	if out, err := exec.Command(perf, "record", "-q", "-e", "cpu-clock", "-g", "-p", strconv.Itoa(pid), "-o", data,
		"sleep", "1").CombinedOutput(); err != nil {
		t.Skipf("perf cannot record here: %v\n%s", err, out)
	}
	write()
	out, err := exec.Command(perf, "script", "-i", data, "-F", "ip,sym,dso").Output()
	if err != nil {
		t.Fatalf("perf script: %v", err)
	}
	if len(bytes.TrimSpace(out)) == 0 {
		t.Skip("perf took no sample here")
	}
	for line := range strings.Lines(string(out)) {
		f := strings.SplitN(strings.TrimSpace(line), " ", 2)
		if name, ok := strings.CutSuffix(f[len(f)-1], " ("+path+")"); ok {
			address, err := strconv.ParseUint(f[0], 16, 64)
			if err != nil {
				t.Fatalf("perf script wrote %q", line)
			}
			frames = append(frames, perfFrame{address, name})
		}
	}
	return frames
}

// perfFrame is a frame as perf shows it.
type perfFrame struct {
	address uint64
	name    string
}

// TestPerfMapOfWasm: perf names the functions of WebAssembly, all of them and by their own names, after perf-map.
func TestPerfMapOfWasm(t *testing.T) {
	t.Parallel()
	host := fetched(t, "wasm/host-v44", "scripts/build-wasm")
	files, err := filepath.Abs("../../testdata/wasm")
	if err != nil {
		t.Fatal(err)
	}
	p := launch(t, exec.Command(host, "work", files)).ready(t)
	path := fmt.Sprintf("/tmp/perf-%d.map", p.pid)
	os.Remove(path) // of another process that had this id
	t.Cleanup(func() { os.Remove(path) })
	frames := perfFrames(t, p.pid, path, func() {
		if o := show(t, "perf-map", "-p", strconv.Itoa(p.pid)); o.status != 0 {
			t.Fatalf("status %d\n%s", o.status, o.stderr)
		}
	})
	m, met := readMap(t, path), map[string]int{}
	for _, f := range frames {
		if want := m.name(f.address); want == "" || f.name != want {
			t.Errorf("perf names %#x %q, the perf map %q", f.address, f.name, want)
		}
		met[f.name]++
	}
	t.Logf("%d frames: %v", len(frames), met)
	for _, want := range []string{"work_leaf", "work_outer", "wasm-function[4]", "work_main"} {
		if met[want] == 0 {
			t.Errorf("perf shows no %s", want)
		}
	}
}

// TestPerfMapCommand: perf reads what perf-map writes, and names samples by it.
func TestPerfMapCommand(t *testing.T) {
	t.Parallel()
	cmd := exec.Command(node22(t), "--perf-prof", source(t, "hot.js"))
	cmd.Dir = room(t)
	p := launch(t, cmd).ready(t)
	time.Sleep(time.Second) // V8 writes its names late: those of what it compiles first are there
	path := fmt.Sprintf("/tmp/perf-%d.map", p.pid)
	os.Remove(path) // of another process that had this id
	defer os.Remove(path)
	frames := perfFrames(t, p.pid, path, func() {
		if o := show(t, "perf-map", "-p", strconv.Itoa(p.pid)); o.status != 0 || !strings.Contains(o.stderr, path) {
			t.Fatalf("status %d\n%s", o.status, o.stderr)
		}
	})
	if o := show(t, "perf-map", "-p", strconv.Itoa(p.pid)); o.status != 2 ||
		!strings.Contains(o.stderr, "exists: -o replaces it") {
		t.Errorf("over a file that is there: status %d\n%s", o.status, o.stderr)
	}
	m, named := readMap(t, path), 0
	for _, f := range frames {
		want := m.name(f.address)
		if want == "" {
			continue
		}
		if named++; !strings.HasPrefix(f.name, want) {
			t.Errorf("perf names %#x %q, the perf map %q", f.address, f.name, want)
		}
	}
	t.Logf("perf named %d frames by %d functions", named, len(m))
	if named == 0 && len(m) == 0 {
		t.Error("perf named nothing")
	}
	o := show(t, "perf-map", "-p", strconv.Itoa(runTarget(t, "threads").pid), "-o", "-")
	if o.status != 2 || !strings.Contains(o.stderr, "no code made at run time") {
		t.Errorf("of a program without such code: status %d\n%s", o.status, o.stderr)
	}
}
