package main_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"go/build"
	"io"
	"io/fs"
	"maps"
	"os"
	"os/exec"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const (
	module = "github.com/fpstack/fpstack"
	plan   = "docs/dev/architecture.md"
)

// room is one row of the import table.
type room struct {
	layer   int
	imports []string // packages of this module, relative to it; "*" is any lower one
	outside []string // packages of other modules; their subpackages are allowed too
}

// vocabulary may be imported by whoever reaches it through its row.
var vocabulary = []string{"mem", "regs", "maps", "work"}

// bound are the rooms that may use unsafe, system calls and files for Linux alone.
var bound = []string{"early", "tracer", "tracer/breakable", "procfs/procfile", "waits/live", "hang/supervise",
	"outfile", "tests/agent", "tests/dotnet", "tests/door", "tests/exact", "tests/hang", "tests/java", "tests/live",
	"tests/cxx", "tests/manners", "tests/python", "tests/run", "tests/rust", "tests/v8", "tests/verdict", "tests/wasm",
	"scripts/bench", "scripts/vm"}

// forTests are modules that tests may import, by room.
var forTests = map[string][]string{
	"flame":      {"github.com/santhosh-tekuri/jsonschema/v6"},
	"report":     {"github.com/santhosh-tekuri/jsonschema/v6"},
	"symbol":     {"github.com/klauspost/compress/zstd"}, // Go has no compressor
	"tests/java": {"golang.org/x/sys/unix"},              // steps a thread
	"tests/live": {"github.com/santhosh-tekuri/jsonschema/v6", "golang.org/x/sys/unix"},
}

// inTests are rooms that any test may import.
var inTests = []string{"tests/hostile", "tests/harness", "tests/memory"}

// listed is what this test wants of `go list -json`.
type listed struct {
	ImportPath                                 string
	Imports, TestImports, XTestImports, Deps   []string
	GoFiles, TestGoFiles, XTestGoFiles, CFiles []string
}

func (p listed) room() string { return relative(p.ImportPath) }

// relative gives the path within this module, "." for its root.
func relative(importPath string) string {
	if importPath == module {
		return "."
	}
	return strings.TrimPrefix(importPath, module+"/")
}

func isOurs(importPath string) bool {
	return importPath == module || strings.HasPrefix(importPath, module+"/")
}

// isOutside says whether importPath belongs to another module: the first element of
// such a path has a dot, none of the standard library's has.
func isOutside(importPath string) bool {
	first, _, _ := strings.Cut(importPath, "/")
	return strings.Contains(first, ".") && !isOurs(importPath)
}

// list runs go list over the module as goos/goarch see it.
func list(t *testing.T, goos, goarch string) []listed {
	t.Helper()
	cmd := exec.Command("go", "list", "-e", "-json", "./...")
	cmd.Env = append(os.Environ(), "GOOS="+goos, "GOARCH="+goarch, "CGO_ENABLED=0")
	var stderr bytes.Buffer
	cmd.Stderr = &stderr
	out, err := cmd.Output()
	if err != nil {
		t.Fatalf("go list for %s/%s: %v\n%s", goos, goarch, err, stderr.Bytes())
	}
	var all []listed
	for d := json.NewDecoder(bytes.NewReader(out)); ; {
		var p listed
		if err := d.Decode(&p); errors.Is(err, io.EOF) {
			return all
		} else if err != nil {
			t.Fatalf("go list for %s/%s: %v", goos, goarch, err)
		}
		all = append(all, p)
	}
}

// table reads the import table, the block ```imports of the plan.
func table(t *testing.T) map[string]room {
	t.Helper()
	text, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	_, rest, ok := strings.Cut(string(text), "\n```imports\n")
	block, _, ok2 := strings.Cut(rest, "\n```")
	if !ok || !ok2 {
		t.Fatalf("%s has no block ```imports", plan)
	}
	rooms := map[string]room{}
	for line := range strings.SplitSeq(block, "\n") {
		left, right, _ := strings.Cut(line, "->")
		inside, outside, _ := strings.Cut(right, "+")
		fields := strings.Fields(left)
		if len(fields) != 2 {
			t.Fatalf("%s: row %q: want a layer, a package and ->", plan, line)
		}
		layer, err := strconv.Atoi(fields[0])
		if err != nil {
			t.Fatalf("%s: row %q: %v", plan, line, err)
		}
		if _, twice := rooms[fields[1]]; twice {
			t.Fatalf("%s: two rows for %s", plan, fields[1])
		}
		rooms[fields[1]] = room{layer, strings.Fields(inside), strings.Fields(outside)}
	}
	return rooms
}

// find gives the row of a package; vm/v8 has that of vm/*, tests/exact/step that of tests/exact.
func find(rooms map[string]room, pkg string) (room, bool) {
	for _, name := range []string{pkg, path.Dir(pkg) + "/*"} {
		if r, ok := rooms[name]; ok {
			return r, true
		}
	}
	if strings.HasPrefix(pkg, "tests/exact/") {
		return rooms["tests/exact"], true
	}
	return room{}, false
}

var update = flag.Bool("update", false, "draw the picture of the house anew")

// picture draws the house of the table, the highest floor first. Rooms of tests and scripts are above all or import
// nothing, and are not drawn.
func picture(rooms map[string]room) string {
	floors := map[int][]string{}
	for name, r := range rooms {
		if !strings.HasPrefix(name, "tests/") && !strings.HasPrefix(name, "scripts/") && name != "." && name != "vm/*" {
			floors[r.layer] = append(floors[r.layer], name)
		}
	}
	var b strings.Builder
	for _, layer := range slices.Backward(slices.Sorted(maps.Keys(floors))) {
		slices.Sort(floors[layer])
		line := fmt.Sprintf("%2d", layer)
		for _, name := range floors[layer] {
			if len(line)+2+len(name) > 100 {
				b.WriteString(line + "\n")
				line = "  "
			}
			line += "  " + name
		}
		b.WriteString(line + "\n")
	}
	return b.String()
}

// TestPicture holds that the picture of the house is that of the table; -update draws it.
func TestPicture(t *testing.T) {
	text, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	before, rest, ok := strings.Cut(string(text), "\n```house\n")
	drawn, after, ok2 := strings.Cut(rest, "```\n")
	want := picture(table(t))
	switch {
	case !ok || !ok2:
		t.Fatalf("%s has no block ```house", plan)
	case drawn == want:
	case *update:
		if err := os.WriteFile(plan, []byte(before+"\n```house\n"+want+"```\n"+after), 0o644); err != nil {
			t.Fatal(err)
		}
	default:
		t.Errorf("the picture in %s is not of its table; go test -run TestPicture -update . draws:\n%s", plan, want)
	}
}

// TestRoomsAreTold holds that the plan says of each room what it is for: by its path, or by its name behind that of the
// room it belongs to.
func TestRoomsAreTold(t *testing.T) {
	text, err := os.ReadFile(plan)
	if err != nil {
		t.Fatal(err)
	}
	_, told, ok := strings.Cut(string(text), "\n## What each room is for\n")
	told, _, ok2 := strings.Cut(told, "\n## ")
	if !ok || !ok2 {
		t.Fatalf("%s does not say what rooms are for", plan)
	}
	for name := range table(t) {
		if name == "." || name == "vm/*" || strings.HasPrefix(name, "tests/") || strings.HasPrefix(name, "scripts/") {
			continue
		}
		if !strings.Contains(told, "`"+name+"`") && !(strings.Contains(told, "`"+path.Dir(name)+"`") &&
			strings.Contains(told, "`"+path.Base(name)+"`")) {
			t.Errorf("%s does not say what %s is for", plan, name)
		}
	}
}

// reaches gives all packages that the rows below pkg lead to.
func reaches(rooms map[string]room, pkg string, into map[string]bool) map[string]bool {
	r, _ := find(rooms, pkg)
	for _, next := range r.imports {
		if !into[next] {
			into[next] = true
			reaches(rooms, next, into)
		}
	}
	return into
}

func TestTableGoesDown(t *testing.T) {
	rooms := table(t)
	for name, r := range rooms {
		for _, next := range r.imports {
			below, ok := find(rooms, next)
			if next != "*" && (!ok || below.layer >= r.layer) {
				t.Errorf("%s: row of %s (layer %d) names %s, which is not in a lower layer", plan, name, r.layer, next)
			}
		}
	}
}

func TestMayImport(t *testing.T) {
	rooms := table(t)
	for _, tt := range []struct {
		name, from, to string
		want           bool
	}{
		{"a pair of the table", "unwind", "unwind/cfi", true},
		{"the same pair upward", "unwind/cfi", "unwind", false},
		{"vocabulary that a row leads to", "unwind", "mem", true},
		{"vocabulary that no row leads to", "profile", "mem", false},
		{"two steps down, not vocabulary", "resolve", "unwind/cfi", false},
		{"the walk asks the tracer", "unwind", "tracer", false},
		{"one of several runtimes", "vm/v8", "unwind", true},
		{"a runtime asks another", "vm/v8", "vm/golang", false},
		{"the command line may use all", "cmd", "unwind/cfi", true},
		{"but not the test room", "cmd", "tests/exact", false},
		{"the test room may use all", "tests/exact", "cmd", true},
		{"the test room's own parts", "tests/exact/step", "tests/exact", true},
		{"main goes through cmd", ".", "tracer", false},
		{"a package without a row", "cmd", "nowhere", false},
	} {
		if got := mayImport(rooms, tt.from, tt.to); got != tt.want {
			t.Errorf("%s: %s -> %s: got %v, want %v", tt.name, tt.from, tt.to, got, tt.want)
		}
	}
}

// mayImport says whether the row of from allows the package to, which is ours.
func mayImport(rooms map[string]room, from, to string) bool {
	r, _ := find(rooms, from)
	if slices.Contains(r.imports, to) {
		return true
	}
	below, known := find(rooms, to)
	if slices.Contains(r.imports, "*") {
		// The parts of exact may use each other.
		return known && (below.layer < r.layer ||
			inRooms([]string{"tests/exact"}, from) && inRooms([]string{"tests/exact"}, to))
	}
	if slices.Contains(r.imports, path.Dir(to)+"/*") {
		return true
	}
	return slices.Contains(vocabulary, to) && reaches(rooms, from, map[string]bool{})[to]
}

func inRooms(names []string, pkg string) bool {
	return slices.ContainsFunc(names, func(name string) bool {
		return pkg == name || strings.HasPrefix(pkg, name+"/")
	})
}

func TestImports(t *testing.T) {
	rooms := table(t)
	for _, p := range list(t, "linux", "amd64") {
		from := p.room()
		r, ok := find(rooms, from)
		if !ok {
			t.Errorf("package %s has no row in %s: write one, with the reason for the package", from, plan)
			continue
		}
		for _, path := range p.Imports {
			switch {
			case path == "unsafe" && !inRooms(bound, from):
				t.Errorf("%s imports unsafe: only %v may; move what needs it there", from, bound)
			case isOurs(path) && !mayImport(rooms, from, relative(path)):
				t.Errorf("%s -> %s is not in the table of %s: pass the data as a plain value, "+
					"or answer there why this pair is needed",
					from, relative(path), plan)
			case isOutside(path) && !inRooms(r.outside, path):
				t.Errorf("%s imports %s, which its row in %s does not name: do without, or say there why it is needed",
					from, path, plan)
			}
		}
	}
}

// Tests reach as far as their package does, and no module from outside comes in by
// them but those named above.
func TestImportsOfTests(t *testing.T) {
	rooms := table(t)
	for _, p := range list(t, "linux", "amd64") {
		from := p.room()
		r, _ := find(rooms, from)
		reach := reaches(rooms, from, map[string]bool{from: true})
		anything := reach["*"]
		for _, path := range slices.Concat(p.TestImports, p.XTestImports) {
			switch {
			case path == "unsafe" && !inRooms(bound, from):
				t.Errorf("tests of %s import unsafe: only %v may", from, bound)
			case inRooms(inTests, relative(path)):
			case isOurs(path) && !anything && !reach[relative(path)] && !mayImport(rooms, from, relative(path)):
				t.Errorf("tests of %s import %s, which the rows of %s do not reach: move the test to exact or cmd",
					from, relative(path), plan)
			case isOutside(path) && !inRooms(slices.Concat(r.outside, forTests[from]), path):
				t.Errorf("tests of %s import %s: do without, or add it to forTests with a reason", from, path)
			}
		}
	}
}

func TestOnlyTestsImportTheirRooms(t *testing.T) {
	for _, p := range list(t, "linux", "amd64") {
		if strings.HasPrefix(p.room(), "tests/") {
			continue
		}
		for _, path := range p.Imports {
			if isOurs(path) && inRooms(inTests, relative(path)) {
				t.Errorf("%s -> %s: it is for tests alone", p.room(), relative(path))
			}
		}
	}
}

func TestNothingImportsExact(t *testing.T) {
	for _, p := range list(t, "linux", "amd64") {
		for _, path := range p.Imports {
			if isOurs(path) && inRooms([]string{"tests/exact"}, relative(path)) &&
				!inRooms([]string{"tests/exact"}, p.room()) {
				t.Errorf("%s -> %s: the test room may import everything and nothing imports it", p.room(),
					relative(path))
			}
		}
	}
}

func TestNames(t *testing.T) {
	for _, p := range list(t, "linux", "amd64") {
		switch name := path.Base(p.ImportPath); name {
		case "util", "utils", "common", "types", "misc", "helpers", "shared":
			t.Errorf("package %s: %q says nothing about what it holds; name it after that", p.room(), name)
		}
	}
}

// files are the Go files of p, tests included.
func (p listed) files() []string {
	return slices.Concat(p.GoFiles, p.TestGoFiles, p.XTestGoFiles)
}

// differ gives what only one of the two holds.
func differ(a, b []string) []string {
	var only []string
	for _, name := range slices.Concat(a, b) {
		if slices.Contains(a, name) != slices.Contains(b, name) {
			only = append(only, name)
		}
	}
	return only
}

// isPure says whether p needs none of the bound rooms.
func isPure(p listed) bool {
	return !inRooms(bound, p.room()) && !slices.ContainsFunc(p.Deps, func(path string) bool {
		return isOurs(path) && inRooms(bound, relative(path))
	})
}

// A pure package has the same files everywhere, so that what is tested here holds
// there. A test that wants a live process asks runtime.GOOS and skips with a reason.
func TestPurePackagesAreTheSameEverywhere(t *testing.T) {
	here := map[string]listed{}
	for _, p := range list(t, "linux", "amd64") {
		if isPure(p) {
			here[p.ImportPath] = p
		}
	}
	for _, system := range []string{"linux/arm64", "linux/s390x", "linux/386", "darwin/arm64", "windows/amd64"} {
		goos, goarch, _ := strings.Cut(system, "/")
		for _, there := range list(t, goos, goarch) {
			p, ok := here[there.ImportPath]
			if !ok {
				continue
			}
			for _, name := range differ(p.files(), there.files()) {
				t.Errorf("%s: %s is not built on linux/amd64 and %s alike: a pure package has no build constraints, "+
					"and no file name that is one (regs_amd64.go)",
					p.room(), name, system)
			}
			if len(p.CFiles) > 0 {
				t.Errorf("%s has C files %v: fpstack is built without cgo", p.room(), p.CFiles)
			}
		}
	}
}

// TestBudgetsAreShares: the work of a run is bounded once, by the command: what reads targets gets a share of that, so
// that the run's limit and Ctrl-C reach all of it.
func TestBudgetsAreShares(t *testing.T) {
	for _, name := range written(t) {
		if path.Ext(name) != ".go" || strings.HasSuffix(name, "_test.go") || strings.HasPrefix(name, "tests/") ||
			strings.HasPrefix(name, "cmd/") || strings.HasPrefix(name, "work/") {
			continue
		}
		text, err := os.ReadFile(name)
		if err != nil {
			t.Fatal(err)
		}
		if strings.Contains(string(text), "work.New(") {
			t.Errorf("%s makes a budget of its own", name)
		}
	}
}

// widestLine is how many columns a line has at most, a tab being 4.
const widestLine = 120

// documents are README and the docs.
func documents(t *testing.T) []string {
	t.Helper()
	files := []string{"README.md"}
	for _, pattern := range []string{"docs/*.md", "docs/dev/*.md"} {
		more, err := filepath.Glob(pattern)
		if err != nil || len(more) == 0 {
			t.Fatalf("%s: %d files, %v", pattern, len(more), err)
		}
		files = append(files, more...)
	}
	return files
}

// written lists the files that people write and read here: code, style sheets and documents, without data of tests
// and the packages of others.
func written(t *testing.T) []string {
	t.Helper()
	var files []string
	err := filepath.WalkDir(".", func(name string, d fs.DirEntry, err error) error {
		switch {
		case err != nil:
			return err
		case d.IsDir() && (slices.Contains([]string{"testdata", "node_modules"}, d.Name()) ||
			len(d.Name()) > 1 && strings.HasPrefix(d.Name(), ".")):
			return fs.SkipDir
		case d.Type().IsRegular() && slices.Contains([]string{".go", ".js", ".css", ".md"}, path.Ext(name)):
			files = append(files, filepath.ToSlash(name))
		}
		return nil
	})
	if err != nil || len(files) < 500 {
		t.Fatalf("%d files, %v", len(files), err)
	}
	return files
}

// columns is the width of a line, a tab going on to the next multiple of 4.
func columns(line string) int {
	n := 0
	for _, r := range strings.TrimSuffix(line, "\n") {
		n++
		if r == '\t' {
			n += (4 - n%4) % 4
		}
	}
	return n
}

func TestColumns(t *testing.T) {
	for line, want := range map[string]int{"": 0, "abc\n": 3, "\t\tx\n": 9, "ab\tx": 5, "abc\tx": 5, "abcd\tx": 9,
		"µs…": 3} {
		if got := columns(line); got != want {
			t.Errorf("%q: got %d, want %d", line, got, want)
		}
	}
}

// TestLinesFit holds that no line is wider than 120 columns, but for the import table, which has a row a line, and
// what programs print, or write, in documents.
func TestLinesFit(t *testing.T) {
	for _, file := range written(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		isData, number := false, 0
		for line := range strings.Lines(string(text)) {
			number++
			if path.Ext(file) == ".md" && strings.HasPrefix(line, "```") {
				isData = strings.HasPrefix(line, "```imports") || strings.HasPrefix(line, "```console")
			}
			if path.Ext(file) == ".md" && strings.HasPrefix(line, "<!-- ") {
				isData = strings.HasPrefix(line, "<!-- written by")
			}
			if n := columns(line); n > widestLine && !isData {
				t.Errorf("%s:%d has %d columns, want %d or fewer", file, number, n, widestLine)
			}
		}
	}
}

// link is a reference of a document to another file.
var link = regexp.MustCompile(`\]\(([^)#:]+)(#[^)]*)?\)`)

// TestDocsLinks holds that what documents refer to is there.
func TestDocsLinks(t *testing.T) {
	for _, file := range documents(t) {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, m := range link.FindAllStringSubmatch(string(text), -1) {
			if _, err := os.Stat(filepath.Join(filepath.Dir(file), m[1])); err != nil {
				t.Errorf("%s: link to %s: %v", file, m[1], err)
			}
		}
	}
}

// TestNoFileIsOfOneArchitecture holds what scripts/test relies on, which compiles the program for three architectures
// and checks types for the others: besides tests that step instructions, each file is built for all or for none.
func TestNoFileIsOfOneArchitecture(t *testing.T) {
	checked := 0
	for _, file := range written(t) {
		if path.Ext(file) != ".go" || strings.HasPrefix(file, "tests/") || strings.HasSuffix(file, "_test.go") {
			continue
		}
		if file == "early/enter_linux_amd64.go" { // one line, which names what is in assembly
			continue
		}
		checked++
		in := build.Default
		in.GOOS, in.CgoEnabled = "linux", false
		var of []string
		for _, in.GOARCH = range []string{"amd64", "386", "arm64", "arm", "riscv64", "s390x", "ppc64le", "loong64"} {
			if ok, err := in.MatchFile(path.Split(file)); err != nil {
				t.Fatal(err)
			} else if ok {
				of = append(of, in.GOARCH)
			}
		}
		if len(of) != 0 && len(of) != 8 {
			t.Errorf("%s is built for %q alone", file, of)
		}
	}
	if checked < 100 {
		t.Errorf("%d files were checked", checked)
	}
}

// TestEveryTestRoomIsRun holds that scripts/test names each room of tests that it leaves out of the others.
func TestEveryTestRoomIsRun(t *testing.T) {
	script, err := os.ReadFile("scripts/test")
	if err != nil {
		t.Fatal(err)
	}
	rooms := map[string]bool{}
	for _, file := range written(t) {
		parts := strings.Split(file, "/")
		if len(parts) == 3 && parts[0] == "tests" && strings.HasSuffix(file, "_test.go") {
			rooms["./tests/"+parts[1]] = true
		}
	}
	for room := range rooms {
		if !regexp.MustCompile(regexp.QuoteMeta(room) + `[ /\n;"]`).Match(script) {
			t.Errorf("%s is in no step of scripts/test", room)
		}
	}
	if len(rooms) < 10 {
		t.Errorf("%d rooms of tests", len(rooms))
	}
}

// TestWorstSentences holds that what docs/dev/words.md has on the left is in no text of the program and on no other
// page.
func TestWorstSentences(t *testing.T) {
	const list = "docs/dev/words.md"
	page, err := os.ReadFile(list)
	if err != nil {
		t.Fatal(err)
	}
	var worst []string
	for line := range strings.Lines(string(page)) {
		cells := strings.Split(line, " | ")
		if left, ok := strings.CutPrefix(cells[0], "| "); ok && len(cells) == 2 && left != "was" {
			worst = append(worst, left)
		}
	}
	if len(worst) < 23 {
		t.Fatalf("%s has %d sentences, want the 23 that were worst and those found since", list, len(worst))
	}
	for _, path := range written(t) {
		ext := filepath.Ext(path)
		if path == list || strings.HasSuffix(path, "_test.go") || !slices.Contains([]string{".go", ".md", ".js"}, ext) {
			continue
		}
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		joined := unbroken.ReplaceAllString(string(text), " ")
		for _, sentence := range worst {
			if strings.Contains(joined, sentence) {
				t.Errorf("%s says %q; %s has a better sentence", path, sentence, list)
			}
		}
	}
}

// unbroken is where a sentence goes on in the next line: of text, of a comment, of a string in two parts.
var unbroken = regexp.MustCompile(` ?"?(?: \+)?\n[\t ]*(?:// |"|> )?`)
