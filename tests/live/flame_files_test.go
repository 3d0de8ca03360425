//go:build linux

package live

import (
	"fmt"
	"maps"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/flame"
	"github.com/fpstack/fpstack/profile"
)

// write puts text into a file of its own.
func write(t testing.TB, name, text string) string {
	t.Helper()
	path := filepath.Join(room(t), name)
	if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
		t.Fatal(err)
	}
	return path
}

const before, after = "main;a 60\nmain;b 40\n", "main;a 20\nmain;c 40\nmain;b 40\n"

// TestFlameFormats: folded text becomes each format, and from those that are read the same again.
func TestFlameFormats(t *testing.T) {
	t.Parallel()
	in := write(t, "in.folded", after)
	dir := room(t)
	for _, file := range []string{"out.folded", "out.pb.gz", "out.json"} {
		out := filepath.Join(dir, file)
		if o := show(t, "flame", in, "-o", out); o.status != 0 || o.stdout != "" || o.stderr != "" {
			t.Errorf("to %s: status %d, %q, %q", file, o.status, o.stdout, o.stderr)
		}
		o := show(t, "flame", out, "-f", "folded")
		if want := "main;a 20\nmain;b 40\nmain;c 40\n"; o.status != 0 || o.stdout != want {
			t.Errorf("from %s: status %d, %q, want %q", file, o.status, o.stdout, want)
		}
	}
	if top := goPprof(t, filepath.Join(dir, "out.pb.gz"), "-top"); !strings.Contains(top, "40 40.00% 40.00%") {
		t.Errorf("go tool pprof:\n%s", top)
	}
	for _, file := range []string{"out.svg", "out.html"} {
		out := filepath.Join(dir, file)
		if o := show(t, "flame", in, "-o", out); o.status != 0 {
			t.Errorf("to %s: status %d, %q", file, o.status, o.stderr)
		}
		if !strings.Contains(readFile(t, out), "<title>a: 20, 20.00") {
			t.Errorf("%s does not show the share of a", file)
		}
	}
	if doc := speedscopeSelf(t, in, dir); doc["a"] != 20 || doc["b"] != 40 || doc["c"] != 40 {
		t.Errorf("speedscope: %v", doc)
	}
}

func speedscopeSelf(t *testing.T, in, dir string) map[string]float64 {
	out := filepath.Join(dir, "out.speedscope.json")
	if o := show(t, "flame", in, "-o", out); o.status != 0 {
		t.Errorf("to speedscope: status %d, %q", o.status, o.stderr)
	}
	return speedscopeSums(t, out, "none")
}

// goPprof asks Go's own pprof.
func goPprof(t testing.TB, path string, args ...string) string {
	t.Helper()
	o := execute(t, bound, installed(t, "go"), append(append([]string{"tool", "pprof"}, args...), path)...)
	if o.status != 0 {
		t.Fatalf("go tool pprof %q: status %d\n%s", args, o.status, o.stderr)
	}
	return o.stdout
}

// TestFlameMerges adds files of different formats up; one of them is standard input.
func TestFlameMerges(t *testing.T) {
	a, b := write(t, "a.folded", before), write(t, "b.folded", after)
	pprof := filepath.Join(room(t), "b.pb.gz")
	if o := show(t, "flame", b, "-o", pprof); o.status != 0 {
		t.Fatal(o.stderr)
	}
	for _, tt := range []struct{ name, command string }{
		{"two files", `"$0" flame "$1" "$2" -f folded`},
		{"standard input first", `"$0" flame - "$2" -f folded <"$1"`},
		{"a pipe last", `cat "$2" | "$0" flame "$1" - -f folded`},
	} {
		o := execute(t, bound, "sh", "-c", tt.command, fpstack, a, pprof)
		if want := "main;a 80\nmain;b 80\nmain;c 40\n"; o.status != 0 || o.stdout != want {
			t.Errorf("%s: status %d, %q, want %q; %s", tt.name, o.status, o.stdout, want, o.stderr)
		}
	}
}

// sides shows a comparison in JSON: each stack with its older and its newer value.
func sides(t *testing.T, doc string) string {
	t.Helper()
	p, err := flame.ReadJSON(strings.NewReader(doc))
	if err != nil {
		return err.Error()
	}
	d, err := profile.Split(p)
	if err != nil {
		return err.Error()
	}
	var lines []string
	for i, s := range d.New.Samples {
		var names []string
		for _, f := range slices.Backward(d.New.Tree.Append(nil, s.Stack)) {
			names = append(names, d.New.Name(f))
		}
		k := d.New.Default
		lines = append(lines, fmt.Sprintf("%s %d %d\n", strings.Join(names, ";"), d.OldValue(i)[k], d.New.Value(i)[k]))
	}
	slices.Sort(lines)
	return strings.Join(lines, "")
}

// TestFlameDiff compares 100 samples with 100: c is new with 40, a has 40 less.
func TestFlameDiff(t *testing.T) {
	t.Parallel()
	older, newer, dir := write(t, "old.folded", before), write(t, "new.folded", after), room(t)
	half := write(t, "half.folded", "main;a 30\nmain;b 20\n")
	for _, tt := range []struct {
		name string
		args []string
		want string
	}{
		{"same size", []string{newer, "--diff", older}, "main;a 60 20\nmain;b 40 40\nmain;c 0 40\n"},
		{"scaled to the newer's total", []string{newer, "--diff", half}, "main;a 60 20\nmain;b 40 40\nmain;c 0 40\n"},
		{"absolute", []string{newer, "--diff", half, "--absolute"}, "main;a 30 20\nmain;b 20 40\nmain;c 0 40\n"},
		{"nothing changed", []string{newer, "--diff", newer}, "main;a 20 20\nmain;b 40 40\nmain;c 40 40\n"},
	} {
		o := show(t, append([]string{"flame", "-f", "json"}, tt.args...)...)
		if got := sides(t, o.stdout); o.status != 0 || got != tt.want {
			t.Errorf("%s: status %d, %q, want %q; %s", tt.name, o.status, got, tt.want, o.stderr)
		}
	}
	pprof := filepath.Join(dir, "diff.pb.gz")
	show(t, "flame", newer, "--diff", older, "-o", pprof)
	top := goPprof(t, pprof, "-top")
	for name, want := range map[string]string{"a": "-40", "c": "40"} {
		found := false
		for line := range strings.Lines(top) {
			f := strings.Fields(line)
			found = found || len(f) == 6 && f[5] == name && f[0] == want
		}
		if !found {
			t.Errorf("no line of %s with %s in\n%s", name, want, top)
		}
	}
	for _, file := range []string{"diff.svg", "diff.html", "diff.json", "diff.speedscope.json"} {
		out := filepath.Join(dir, file)
		if o := show(t, "flame", newer, "--diff", older, "-o", out); o.status != 0 || o.stdout != "" ||
			!strings.Contains(o.stderr, "-40.00 ±") {
			t.Errorf("%s: status %d, %q, %q", file, o.status, o.stdout, o.stderr)
		}
	}
	for _, file := range []string{"diff.svg", "diff.html"} {
		text := readFile(t, filepath.Join(dir, file))
		if !strings.Contains(text, "old.folded") {
			t.Errorf("%s does not say what it is compared with", file)
		}
		for name, want := range map[string]string{
			"main": `100, 100\.00 %`, "a": `20, 20\.00 %, -40\.00 ± 8\.94 points`, "b": `40, 40\.00 %`,
			"c": `40, 40\.00 %, \+40\.00 ± 6\.32 points`,
		} {
			if tips := regexp.MustCompile(`<title>`+name+`: `+want).FindAllString(text, -1); len(tips) != 1 {
				t.Errorf("%s: %d tips of %s with %s", file, len(tips), name, want)
			}
		}
	}
	// Speedscope knows no differences: it gets the newer one, and its heading says so.
	self := speedscopeSums(t, filepath.Join(dir, "diff.speedscope.json"), "none")
	if want := map[string]float64{"a": 20, "b": 40, "c": 40}; !maps.Equal(self, want) {
		t.Errorf("diff.speedscope.json: %v, want %v", self, want)
	}
	if text := readFile(t, filepath.Join(dir, "diff.speedscope.json")); !strings.Contains(text,
		"compared with old.folded") {
		t.Error("diff.speedscope.json does not say what it is compared with")
	}
	svgFile(t, filepath.Join(dir, "diff.svg"))
	// A file that holds a comparison is one.
	for _, file := range []string{"diff.pb.gz", "diff.json"} {
		o := show(t, "flame", filepath.Join(dir, file), "-f", "json")
		if got := sides(t, o.stdout); got != "main;a 60 20\nmain;b 40 40\nmain;c 0 40\n" {
			t.Errorf("read %s: status %d, %q, %s", file, o.status, got, o.stderr)
		}
	}
	if o := show(t, "flame", pprof, "--diff", older, "-f", "json"); o.status != 2 ||
		!strings.Contains(o.stderr, "already a comparison") {
		t.Errorf("a comparison of a comparison: status %d, %q", o.status, o.stderr)
	}
}

// TestFlameBadInput: what is not understood is reported, counted, and never taken for something else.
func TestFlameBadInput(t *testing.T) {
	t.Parallel()
	p := duty(t, "100", "1", "cpu", "100")
	pprof, dir := filepath.Join(room(t), "whole.pb.gz"), room(t)
	if o := show(t, "record", "-q", "-p", strconv.Itoa(p.pid), "-d", "500ms", "-o", pprof); o.status != 0 {
		t.Fatal(o.stderr)
	}
	whole := readFile(t, pprof)
	for _, tt := range []struct {
		name, file, text string
		status           int
		stdout, message  string
	}{
		{"a bad line", "x.folded", "a;b 10\nno number\na;c 5\nnor here\n", 1, "a;b 10\na;c 5\n",
			`2 of 4 lines were not understood; the first is line 2: "no number"`},
		{"a bad line with an escape", "x.folded", "a;b 10\n\x1b[31mred\n", 1, "a;b 10\n",
			`1 of 2 lines were not understood; the first is line 2: "\x1b[31mred"`},
		{"most lines bad", "x.folded", "a;b 10\nno number\nnor here\n", 2, "", `2 of 3 lines are not understood`},
		{"no good line", "x.folded", "one\ntwo\n", 2, "", "no line is understood"},
		{"nothing", "x.folded", "", 2, "", "found nothing"},
		{"a cut pprof", "x.pb.gz", whole[:len(whole)/2], 2, "", "unexpected EOF"},
		{"a pprof cut in its heading", "x.pb.gz", whole[:5], 2, "", "EOF"},
		{"a picture", "x.svg", "<svg/>", 2, "", "picture"},
		{"a dump in JSON", "x.json", `{"schema":"fpstack.dump/1"}`, 2, "", "found a dump: fpstack FILE"},
		{"cut JSON", "x.json", `{"schema":"fpstack.profile/1","types":[`, 2, "", "unexpected EOF"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			path := write(t, tt.file, tt.text)
			o := show(t, "flame", path, "-f", "folded")
			if o.status != tt.status || o.stdout != tt.stdout || !strings.Contains(o.stderr, tt.message) ||
				strings.Contains(o.stderr, path) != (tt.message != "") {
				t.Errorf("status %d, output %q, standard error %q; want %d, %q and %q", o.status, o.stdout, o.stderr,
					tt.status, tt.stdout, tt.message)
			}
			checkClean(t, o.stderr)
			out := filepath.Join(dir, "out.svg")
			o = show(t, "flame", path, "-o", out)
			if _, err := os.Stat(out); (err == nil) != (tt.status < 2) || o.status != tt.status {
				t.Errorf("to a file: status %d, %v; want %d", o.status, err, tt.status)
			}
			os.Remove(out)
		})
	}
	if got := names(t, dir); len(got) > 0 {
		t.Errorf("files are left: %q", got)
	}
}

// TestFlameTwoNumbers: a number before the count is part of a name, and no comparison is written as folded text.
func TestFlameTwoNumbers(t *testing.T) {
	two := write(t, "two.folded", "main;a 3 10\nmain;b 4 5\n")
	if o := show(t, "flame", "-f", "folded", two); o.status != 0 || o.stdout != "main;a_3 10\nmain;b_4 5\n" {
		t.Errorf("status %d, %q, %q", o.status, o.stdout, o.stderr)
	}
	if o := show(t, "flame", "-f", "folded", two, "--diff", two); o.status != 64 ||
		!strings.Contains(o.stderr, "one number") {
		t.Errorf("a comparison: status %d, %q", o.status, o.stderr)
	}
}

func TestFlameUsage(t *testing.T) {
	in := write(t, "in.folded", before)
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		want   string
	}{
		{"no file", nil, 64, "no profile given"},
		{"only the older", []string{"--diff", in}, 64, "no profile given"},
		{"standard input twice", []string{"-", "-"}, 64, "read only once"},
		{"standard input twice, once as the older", []string{"-", "--diff", "-"}, 64, "read only once"},
		{"absolute without an older", []string{in, "--absolute"}, 64, "--absolute without --diff"},
		{"unknown format", []string{in, "-f", "png"}, 64, "want folded, pprof"},
		{"unknown ending", []string{in, "-o", "x.png"}, 64, ".speedscope.json"},
		{"unknown value", []string{in, "--type", "wall"}, 64, "the profile has samples"},
		{"no such file", []string{"/no/such/file"}, 2, "no such file or directory"},
		{"a folder", []string{"/tmp"}, 2, "is a directory"},
		{"unwritable", []string{in, "-o", "/no/such/out.svg"}, 2, "/no/such/out.svg"},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := show(t, append([]string{"flame"}, tt.args...)...)
			if o.status != tt.status || o.stdout != "" || !strings.HasPrefix(o.stderr, "fpstack: ") ||
				!strings.Contains(o.stderr, tt.want) {
				t.Errorf("status %d, output %q, %q; want %d, nothing and %q", o.status, o.stdout, o.stderr,
					tt.status, tt.want)
			}
		})
	}
}

// TestFlameOutput: a pipe gets SVG; a terminal a new file, or text where text was chosen.
func TestFlameOutput(t *testing.T) {
	in, dir := write(t, "in.folded", before), room(t)
	if o := show(t, "flame", in); o.status != 0 || !strings.Contains(o.stdout, "<svg") ||
		!strings.HasSuffix(strings.TrimSpace(o.stdout), "</svg>") {
		t.Errorf("a pipe: status %d, %.100q, %s", o.status, o.stdout, o.stderr)
	}
	for _, tt := range []struct {
		args  []string
		files string
		text  string
	}{
		{nil, "in.html", "wrote in.html"},
		{[]string{"-f", "svg"}, "in.html in.svg", "wrote in.svg"},
		{[]string{"-f", "svg"}, "in-2.svg in.html in.svg", "wrote in-2.svg"},
		{[]string{"-f", "folded"}, "in-2.svg in.html in.svg", "main;a 60"},
	} {
		cmd := exec.Command(fpstack, append([]string{"flame", in}, tt.args...)...)
		cmd.Dir = dir
		term := onTerminal(t, cmd)
		status := term.ended(t)
		<-term.end
		if got := strings.Join(names(t, dir), " "); status != 0 || got != tt.files ||
			!strings.Contains(term.seen(), tt.text) {
			t.Errorf("%q: status %d, files %q, terminal %q; want %q and %q", tt.args, status, got, term.seen(),
				tt.files, tt.text)
		}
	}
}

// TestFlameFullDisk: nothing half-written, and the old file stays.
func TestFlameFullDisk(t *testing.T) {
	in, dir := write(t, "in.folded", before), room(t)
	out := filepath.Join(dir, "out.html")
	if err := os.WriteFile(out, []byte("old"), 0o644); err != nil {
		t.Fatal(err)
	}
	o := execute(t, bound, "sh", "-c", `ulimit -f 4; exec "$0" flame "$1" -o "$2"`, fpstack, in, out)
	checkEnd(t, o, nil)
	if got := names(t, dir); o.status != 2 || len(got) != 1 || readFile(t, out) != "old" ||
		!strings.Contains(o.stderr, "file too large") {
		t.Errorf("status %d, files %q, %q", o.status, got, o.stderr)
	}
}

// TestFlameThreads: a recording keeps who did it.
func TestFlameThreads(t *testing.T) {
	t.Parallel()
	p := duty(t, "100", "2", "cpu", "100")
	out := filepath.Join(room(t), "out.json")
	if o := show(t, "record", "-q", "-p", strconv.Itoa(p.pid), "-d", "500ms", "-o", out); o.status != 0 {
		t.Fatal(o.stderr)
	}
	for _, tt := range []struct {
		args []string
		want string // begin of each line
	}{
		{[]string{"--threads"}, "duty;duty;"},
		{nil, ""},
	} {
		o := show(t, append([]string{"flame", out, "-f", "folded"}, tt.args...)...)
		if o.status != 0 || !strings.Contains(o.stdout, "work_a") {
			t.Errorf("%q: status %d, %q, %s", tt.args, o.status, o.stdout, o.stderr)
		}
		for line := range strings.Lines(o.stdout) {
			if !strings.HasPrefix(line, tt.want) || tt.want == "" && strings.HasPrefix(line, "duty") {
				t.Errorf("%q: %q, want %q first", tt.args, line, tt.want)
			}
		}
	}
}
