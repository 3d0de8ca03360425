//go:build linux

package live

import (
	"bufio"
	"debug/elf"
	"encoding/hex"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"

	"github.com/fpstack/fpstack/tests/harness"
)

// Of both sources the lines are counted by hand where a test names one.
const (
	symbolizeProgram = `#include <stdio.h>
#include <unistd.h>
int lib_call(int (*back)(int), int n);
static volatile int sink;
static inline __attribute__((always_inline)) int innermost(int n) {
	printf("R\n"); fflush(stdout);
	while (1) pause();
	return n + sink;
}
static inline __attribute__((always_inline)) int middle(int n) {
	return innermost(n + 1) + sink;
}
static __attribute__((noinline)) int back(int n) {
	return middle(n) + sink;
}
int main(void) {
	return lib_call(back, 3) + sink;
}
`
	symbolizeLibrary = `static volatile int sink;
static inline __attribute__((always_inline)) int through(int (*back)(int), int n) {
	return back(n * 2) + sink;
}
static __attribute__((noinline)) int hidden(int (*back)(int), int n) {
	return through(back, n) + sink;
}
int lib_call(int (*back)(int), int n) {
	return hidden(back, n) + sink;
}
`
)

// shipped is a program as it was built and as it runs elsewhere.
type shipped struct {
	full  string // directory with program and library as built
	there string // directory with the same, stripped
	tree  string // directory with their debug files by build id
}

// ship builds the program; with -static the library is part of it.
func ship(t *testing.T, options ...string) shipped {
	t.Helper()
	dir := room(t)
	s := shipped{filepath.Join(dir, "full"), filepath.Join(dir, "there"), filepath.Join(dir, "tree")}
	for _, tool := range []string{"gcc", "strip", "objcopy"} {
		installed(t, tool)
	}
	for name, text := range map[string]string{"prog.c": symbolizeProgram, "lib.c": symbolizeLibrary} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	flags := strings.Join(options, " ")
	script := "mkdir full there tree; gcc -g -O2 -Wl,--build-id " + flags
	if strings.Contains(flags, "static") {
		script += " -o full/prog prog.c lib.c"
	} else {
		script += " -shared -fPIC -o full/libx.so lib.c && gcc -g -O2 -Wl,--build-id " + flags +
			" -o full/prog prog.c -Lfull -lx -Wl,-rpath,'$ORIGIN'"
	}
	shell(t, dir, script+` && for f in full/*; do strip -o there/${f#full/} $f; done`)
	for _, path := range s.files(t) {
		id := buildIDOf(t, path)
		shell(t, dir, fmt.Sprintf("mkdir -p tree/.build-id/%s && objcopy --only-keep-debug %s "+
			"tree/.build-id/%s/%s.debug", id[:2], path, id[:2], id[2:]))
	}
	return s
}

func shell(t *testing.T, dir, script string) {
	t.Helper()
	c := exec.Command("sh", "-c", script)
	c.Dir = dir
	if out, err := c.CombinedOutput(); err != nil {
		if strings.Contains(script, "-m32") {
			t.Skipf("a 32-bit program is not built: %s", out)
		}
		t.Fatalf("%s: %v\n%s", script, err, out)
	}
}

// files lists the files as they were built.
func (s shipped) files(t *testing.T) []string {
	t.Helper()
	files, err := filepath.Glob(s.full + "/*")
	if err != nil || len(files) == 0 {
		t.Fatalf("files of %s: %q, %v", s.full, files, err)
	}
	return files
}

// buildIDOf reads the note as debug/elf finds it: 12 bytes of header, "GNU" and a NUL.
func buildIDOf(t *testing.T, path string) string {
	t.Helper()
	f, err := elf.Open(path)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	b, err := f.Section(".note.gnu.build-id").Data()
	if err != nil || len(b) < 18 {
		t.Fatalf("build id of %s: %x, %v", path, b, err)
	}
	return hex.EncodeToString(b[16:])
}

// live starts the program of a directory and gives its id as an argument.
func (s shipped) start(t *testing.T, dir string) string {
	t.Helper()
	p := launch(t, exec.Command(filepath.Join(dir, "prog"))).ready(t)
	asleep(t, p.pid)
	return strconv.Itoa(p.pid)
}

// dumpThere dumps the stripped program, ends nothing, and removes its files, as if they were on
// another machine.
func (s shipped) dumpThere(t *testing.T) (file string) {
	t.Helper()
	file = filepath.Join(room(t), "dump.json")
	if o := show(t, "-p", s.start(t, s.there), "-f", "json", "-o", file); o.status != 0 {
		t.Fatalf("dump: status %d\n%s", o.status, o.stderr)
	}
	if err := os.RemoveAll(s.there); err != nil {
		t.Fatal(err)
	}
	return file
}

var addresses = regexp.MustCompile(`0x[0-9a-f]{16}`)

// unnamedThere is what is said of an object of the program of which not all frames have a name.
var unnamedThere = regexp.MustCompile(`/there/.*have no name`)

// stackText is the lines of the frames in a text dump with -v, without what differs from process to
// process and how they were found.
func stackText(text string) string {
	var b strings.Builder
	for line := range strings.Lines(text) {
		if strings.HasPrefix(line, "  #") {
			line, _, _ = strings.Cut(strings.TrimSuffix(line, "\n"), "  {")
			b.WriteString(addresses.ReplaceAllString(line, "ADDRESS") + "\n")
		}
	}
	return b.String()
}

// TestSymbolizeEqualsTheUnstripped: the dump of a stripped program, named elsewhere, is that
// of the program as it was built, line by line.
func TestSymbolizeEqualsTheUnstripped(t *testing.T) {
	harness.Long(t)
	t.Parallel()
	for _, tt := range []struct {
		name    string
		options []string
	}{
		{"with a shared library", nil},
		{"static-pie", []string{"-static-pie"}},
		{"at fixed addresses", []string{"-no-pie"}},
		{"32 bits", []string{"-m32"}},
	} {
		t.Run(tt.name, func(t *testing.T) {
			s := ship(t, tt.options...)
			want := show(t, "-v", "-p", s.start(t, s.full))
			for _, line := range []string{"innermost  ", "middle  ", "back+0x", "/prog.c:7  (inlined)",
				"/prog.c:11  (inlined)", "/prog.c:14  [", "/lib.c:6  [", "main+0x"} {
				if !strings.Contains(want.stdout, line) {
					t.Fatalf("the program as built does not show %q:\n%s", line, want.stdout)
				}
			}
			status := 0
			if strings.Contains(want.stdout, "  ??  ") {
				status = 1 // the system's own 32-bit library has no symbols and no debug file
			}
			dump := s.dumpThere(t)
			bare := show(t, dump, "-f", "text")
			if bare.status != 1 || strings.Contains(bare.stdout, "prog.c") ||
				!strings.Contains(bare.stdout, "  prog+0x") ||
				!strings.Contains(bare.stderr, "there/prog") || !strings.Contains(bare.stderr, "have no name") {
				t.Errorf("without files: status %d\n%s%s", bare.status, bare.stdout, bare.stderr)
			}
			for _, way := range []struct {
				name string
				args []string
			}{
				{"files by hand", s.files(t)},
				{"debug files by build id", []string{"--debug-dir", s.tree, "--debug-dir", "/usr/lib/debug"}},
			} {
				got := show(t, append([]string{"-v", dump}, way.args...)...)
				if stackText(got.stdout) != stackText(want.stdout) || got.status != status ||
					unnamedThere.MatchString(got.stderr) {
					t.Errorf("%s: status %d\n%s\ngot\n%s\nwant\n%s", way.name, got.status, got.stderr, got.stdout,
						want.stdout)
				}
			}
			again := filepath.Join(room(t), "again.json")
			if o := show(t, append([]string{dump, "-f", "json", "-o", again},
				s.files(t)...)...); o.status != status {
				t.Errorf("to JSON: status %d\n%s", o.status, o.stderr)
			}
			if got := show(t, "-v", again); stackText(got.stdout) != stackText(want.stdout) ||
				got.status != status {
				t.Errorf("JSON read back: status %d\n%s%s", got.status, got.stdout, got.stderr)
			}
			fits(t, again)
		})
	}
}

// fits validates a document by the published schema.
func fits(t *testing.T, file string) {
	t.Helper()
	schema, err := jsonschema.NewCompiler().Compile("../../docs/schema/fpstack.dump.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(readFile(t, file)))
	if err == nil {
		err = schema.Validate(doc)
	}
	if err != nil {
		t.Errorf("%s: %v", file, err)
	}
}

// TestSymbolizeRefuses: files of another build are not believed, and that is reported.
func TestSymbolizeRefuses(t *testing.T) {
	s, other := ship(t), ship(t, "-DOTHER", "-O1")
	program := buildIDOf(t, s.full+"/prog")
	foreign := buildIDOf(t, other.full+"/prog")
	path := filepath.Join(s.there, "prog")
	dump := s.dumpThere(t)

	o := show(t, append([]string{dump}, other.files(t)...)...)
	if o.status != 1 || strings.Contains(o.stdout, "prog.c") {
		t.Errorf("other build by hand: status %d\n%s", o.status, o.stdout)
	}
	checkTells(t, o, other.full+"/prog", path, program, foreign)

	shell(t, ".", fmt.Sprintf("mkdir -p %s && cp %s %s", s.there, other.full+"/prog", path))
	o = show(t, dump)
	if o.status != 1 || strings.Contains(o.stdout, "prog.c") {
		t.Errorf("other build at the module's path: status %d\n%s", o.status, o.stdout)
	}
	checkTells(t, o, path, program, foreign)

	o = show(t, dump, s.full+"/prog", s.full+"/libx.so", "/bin/true")
	if o.status != 0 {
		t.Errorf("one file too many: status %d\n%s", o.status, o.stderr)
	}
	checkTells(t, o, `"/bin/true" fits no module`)

	o = show(t, dump, s.full+"/prog")
	if o.status != 1 || !strings.Contains(o.stdout, "prog.c:14") || !strings.Contains(o.stdout, "  libx.so+0x") {
		t.Errorf("library not there: status %d\n%s", o.status, o.stdout)
	}
	checkTells(t, o, "libx.so", "1 of 2 frames have no name", buildIDOf(t, s.full+"/libx.so"))
}

func checkTells(t *testing.T, o outcome, want ...string) {
	t.Helper()
	for _, w := range want {
		if !strings.Contains(o.stderr, w) {
			t.Errorf("standard error does not report %q:\n%s", w, o.stderr)
		}
	}
}

// TestSymbolizeWithoutBuildID: the name counts, and that it is not checked is reported.
func TestSymbolizeWithoutBuildID(t *testing.T) {
	dir := room(t)
	if err := os.WriteFile(dir+"/prog.c",
		[]byte(symbolizeProgram+symbolizeLibrary[len("static volatile int sink;\n"):]), 0o644); err != nil {
		t.Fatal(err)
	}
	shell(t, dir, "mkdir full there && gcc -g -O2 -Wl,--build-id=none -o full/prog prog.c && strip -o there/prog "+
		"full/prog && cp full/prog full/called")
	s := shipped{full: dir + "/full", there: dir + "/there"}
	dump := s.dumpThere(t)
	o := show(t, dump, s.full+"/prog")
	if o.status != 0 || !strings.Contains(o.stdout, "prog.c:14") {
		t.Errorf("by name: status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	checkTells(t, o, "has no build id", "not checked", s.full+"/prog")
	o = show(t, dump, s.full+"/called")
	if o.status != 1 || strings.Contains(o.stdout, "prog.c") {
		t.Errorf("by another name: status %d\n%s", o.status, o.stdout)
	}
	checkTells(t, o, "has no build id", "fits no module")
}

// TestSymbolizeGo: Go's own table has named all that is to be named.
func TestSymbolizeGo(t *testing.T) {
	p := runTarget(t, "threads-go-stripped")
	file := filepath.Join(room(t), "dump.json")
	if o := show(t, "-p", strconv.Itoa(p.pid), "-f", "json", "-o", file); o.status != 0 {
		t.Fatalf("dump: status %d\n%s", o.status, o.stderr)
	}
	want := show(t, "-p", strconv.Itoa(p.pid))
	got := show(t, file)
	if got.status != 0 || !strings.Contains(got.stdout, "main.") || !strings.Contains(got.stdout, ".go:") {
		t.Errorf("status %d\n%s%s", got.status, got.stdout, got.stderr)
	}
	for _, line := range []string{"main.", "runtime."} {
		if g, w := strings.Count(got.stdout, line), strings.Count(want.stdout, line); g == 0 || w == 0 {
			t.Errorf("%q is there %d times, %d in the dump itself", line, g, w)
		}
	}
}

// TestSymbolizeSeveral: documents one after the other, on standard input and in files.
func TestSymbolizeSeveral(t *testing.T) {
	s := ship(t)
	a, b := s.start(t, s.there), s.start(t, s.full)
	file := filepath.Join(room(t), "dumps.json")
	if o := show(t, "-p", a+","+b, "-f", "json", "-o", file); o.status != 0 {
		t.Fatalf("dump: status %d\n%s", o.status, o.stderr)
	}
	files := strings.Join(s.files(t), " ")
	o := execute(t, bound, "sh", "-c", fmt.Sprintf("cat %s | %s - %s", file, fpstack, files))
	if o.status != 0 || strings.Count(o.stdout, "prog.c:14") != 2 || strings.Count(o.stdout, "\n\nprocess ") != 1 {
		t.Errorf("on standard input: status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	for form, want := range map[string]string{"gdb": "in back () at ", "json": `"function": "back"`,
		"folded": ";back;middle;innermost;"} {
		o := show(t, append([]string{"-f", form, file}, s.files(t)...)...)
		if o.status != 0 || !strings.Contains(o.stdout, want) {
			t.Errorf("as %s: status %d, no %q in\n%s%s", form, o.status, want, o.stdout, o.stderr)
		}
	}
	if ds := decode(t, show(t, append([]string{"-f", "json", file}, s.files(t)...)...).stdout); len(
		ds) != 2 {
		t.Errorf("as JSON: %d documents, want 2", len(ds))
	}
	o = show(t, append([]string{"--names=functions", file, file}, s.files(t)...)...)
	if o.status != 0 || strings.Contains(o.stdout, "prog.c") || strings.Contains(o.stdout, "inlined") ||
		strings.Count(o.stdout, "  back  ") != 4 {
		t.Errorf("twice without lines and inlined functions: status %d\n%s%s", o.status, o.stdout, o.stderr)
	}
	text := readFile(t, file)
	cut := filepath.Join(room(t), "cut.json")
	if err := os.WriteFile(cut, []byte(text[:len(text)-200]), 0o644); err != nil {
		t.Fatal(err)
	}
	o = show(t, append([]string{cut}, s.files(t)...)...)
	if o.status != 1 || strings.Count(o.stdout, "process ") != 1 {
		t.Errorf("the second cut: status %d\n%s", o.status, o.stdout)
	}
	checkTells(t, o, cut, "cut short")
}

// writeText writes text and a million times more to a file, without holding it: the peak of a
// child's memory begins with that of its parent.
func writeText(t *testing.T, file, text, more string) {
	t.Helper()
	f, err := os.Create(file)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	w := bufio.NewWriterSize(f, 1<<20)
	w.WriteString(text)
	for range 1000000 {
		w.WriteString(more)
	}
	if err := w.Flush(); err != nil {
		t.Fatal(err)
	}
}

// TestSymbolizeBadInput: what is no dump gives a reason, little memory, and status 2.
func TestSymbolizeBadInput(t *testing.T) {
	t.Parallel()
	const head = `{"schema":"fpstack.dump/1","process":{"pid":1,"cmdline":[]},` +
		`"modules":[],"threads":[{"tid":1,"stack":{"complete":true,"frames":[`
	for _, tt := range []struct {
		name, text, want string
		more             string // written a million times behind text
	}{
		{"empty", "", "empty", ""},
		{"blanks", " \n", "empty", ""},
		{"text", "process 4121 redis-server\n", "no dump in JSON", ""},
		{"profile", `{"schema":"fpstack.profile/1"}`, "fpstack.profile/1", ""},
		{"nested deeply", strings.Repeat("[", 1<<20), "no dump in JSON", ""},
		{"nested deeply behind a name", `{"schema":"fpstack.dump/1","x":` + strings.Repeat(`{"a":`, 1<<20),
			"depth", ""},
		{"huge number", head + `{"index":1e999999999}`, "1e999999999", ""},
		{"long number", head + `{"index":` + strings.Repeat("9", 1<<20), "cut short", ""},
		{"ten million frames", head, "more than 2097152",
			strings.Repeat(`{"index":0,"kind":"native","address":"0x1"},`, 10)},
		{"escape in a name", `{"schema":"` + "\x1b" + `]0;title"}`, "invalid character", ""},
		{"escape in a schema", `{"schema":"\u001b]0;title"}`, "schema", ""},
	} {
		file := filepath.Join(room(t), "dump.json")
		writeText(t, file, tt.text, tt.more)
		o := show(t, file)
		if o.status != 2 || o.stdout != "" || !strings.Contains(o.stderr, tt.want) || len(o.stderr) > 2000 ||
			strings.Contains(o.stderr, "\x1b") {
			t.Errorf("%s: status %d, output %.200q, error %.500q, want status 2 and %q", tt.name, o.status, o.stdout,
				o.stderr, tt.want)
		}
		if o.peak > 1500<<20 {
			t.Errorf("%s: took %d MiB", tt.name, o.peak>>20)
		} else if tt.more != "" {
			t.Logf("%s: took %d MiB", tt.name, o.peak>>20)
		}
	}
	for _, tt := range []struct {
		args   []string
		status int
		want   string
	}{
		{nil, 64, "no process given"},
		{[]string{fpstack}, 64, "is a program or a debug file"},
		{[]string{"/nowhere.json"}, 2, "/nowhere.json"},
		{[]string{"/"}, 2, "directory"},
		{[]string{"-f", "xml", "x"}, 64, "text"},
	} {
		if o := show(t, tt.args...); o.status != tt.status ||
			!strings.Contains(o.stderr, tt.want) {
			t.Errorf("symbolize %q: status %d, want %d; %s", tt.args, o.status, tt.status, o.stderr)
		}
	}
}
