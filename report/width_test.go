package report

import (
	"bytes"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// wide is a dump in which everything is long.
func wide() *profile.Dump {
	d := redis()
	long := strings.Repeat("very::long::", 20) + "name<int>::last(char const*)"
	d.Process.Cmdline = strings.Fields("/usr/bin/redis-server " + strings.Repeat("--option value ", 30))
	d.Notes = []string{"python3 4121: Python frames are not shown: fpstack does not read this runtime yet; " +
		"py-spy dump --pid 4121 shows them"}
	d.Modules = append(d.Modules, profile.Module{Path: "/usr/lib/" + strings.Repeat("lib", 30) + ".so.1"})
	t := &d.Threads[0]
	t.Stack.Complete, t.Stack.Detail = false, strings.Repeat("a reason that goes on ", 8)
	t.Syscall = &profile.Syscall{Name: "ppoll", Args: make([]profile.Arg, 6)}
	for i := range t.Syscall.Args {
		t.Syscall.Args[i] = profile.Arg{Text: "FLAG_ONE|FLAG_TWO|FLAG_THREE"}
	}
	t.KernelStack = []string{"[<0>] " + strings.Repeat("do_", 40) + "poll+0x12/0x34"}
	for i, file := range []string{"", "/usr/src/" + strings.Repeat("deep/", 30) + "networking.c",
		"/home/漢字/漢字漢字漢字漢字漢字漢字漢字漢字漢字.c"} {
		t.Stack.Frames = append(t.Stack.Frames,
			profile.Frame{Index: 2 + i, Addr: 0x1234, Func: long, Offset: 0x123, File: file, Line: 12345,
				Module: len(d.Modules) - 1, Note: "unsure"},
			profile.Frame{Index: 2 + i, Addr: 0x1234, Module: len(d.Modules) - 1, ModuleAddr: 0x55d0c1a2b3c4},
			profile.Frame{Index: 2 + i, Inlined: true, Func: long, File: file, Line: 7, Module: -1})
	}
	for i := range 300 { // ids that are no run
		again := *t
		again.TID = 10000 + 2*i
		d.Threads = append(d.Threads, again)
	}
	return d
}

// TestTextFits: on a terminal of 80 cells no line wraps, and what distinguishes frames stays.
func TestTextFits(t *testing.T) {
	for _, cells := range []int{80, 100, 200} {
		var out bytes.Buffer
		if err := Text(&out, wide(), Options{Width: cells, Group: true}); err != nil {
			t.Fatal(err)
		}
		for line := range strings.Lines(out.String()) {
			if n := text.Width(strings.TrimRight(line, "\n")); n > cells {
				t.Errorf("at %d cells %d are used by %q", cells, n, line)
			}
		}
		for _, want := range []string{"last(", "orking.c:12345", "漢字.c:12345", "(unsure)", "(inlined)",
			"+0x55d0c1a2b3c4\n", "301 threads ", "more", "py-spy"} {
			if !strings.Contains(out.String(), want) {
				t.Errorf("at %d cells there is no %q in\n%s", cells, want, out.String())
			}
		}
	}
	var narrow, verbose, whole bytes.Buffer
	Text(&narrow, wide(), Options{Width: 80})
	Text(&verbose, wide(), Options{Width: 80, Verbose: true})
	Text(&whole, wide(), Options{Verbose: true})
	if verbose.String() != whole.String() || !strings.Contains(verbose.String(), strings.Repeat("deep/", 30)) {
		t.Error("with -v a width changes something")
	}
	if words := func(s string) string {
		return strings.Join(strings.Fields(s),
			" ")
	}; !strings.Contains(words(narrow.String()), strings.Repeat("a reason that goes on ", 8)[:150]) {
		t.Errorf("a reason lost something:\n%s", narrow.String())
	}
}

// TestTablesFit: nor does a line of check or doctor wrap, and no word of a remedy is lost.
func TestTablesFit(t *testing.T) {
	dress := func(_ Part, s string) string { return "\x1b[31m" + s + "\x1b[0m" }
	words := func(s string) string { return strings.Join(strings.Fields(s), " ") }
	for _, cells := range []int{80, 100} {
		for name, r := range checkCases() {
			var fit, dressed bytes.Buffer
			CheckText(&fit, r, false, nil, cells)
			CheckText(&dressed, r, false, dress, cells)
			for line := range strings.Lines(fit.String()) {
				if text.Width(strings.TrimRight(line, "\n")) > cells {
					t.Errorf("%s at %d cells: %q", name, cells, line)
				}
			}
			if plain := strings.NewReplacer("\x1b[31m", "", "\x1b[0m",
				"").Replace(dressed.String()); plain != fit.String() {
				t.Errorf("%s at %d cells: colours change the lines:\n%s\n%s", name, cells, plain, fit.String())
			}
		}
		for name, e := range gateCases() {
			var fit, whole bytes.Buffer
			GatesText(&fit, e, true, nil, cells)
			GatesText(&whole, e, true, nil, 0)
			for line := range strings.Lines(fit.String()) {
				if text.Width(strings.TrimRight(line, "\n")) > cells {
					t.Errorf("%s at %d cells: %q", name, cells, line)
				}
			}
			if words(fit.String()) != words(whole.String()) {
				t.Errorf("%s at %d cells: words differ:\n%s", name, cells, fit.String())
			}
		}
	}
}

// TestWidthOfACommandLine: where the command line is too long the folder of the program goes first.
func TestWidthOfACommandLine(t *testing.T) {
	for _, c := range []struct {
		arguments []string
		want      string
	}{
		{[]string{"/root/.pyenv/versions/3.11.7/bin/python3", "worker.py"}, "  python3 worker.py  "},
		{[]string{"postgres: sender", "to /a/b", strings.Repeat("x", 80)}, "  postgres: sender"},
		{[]string{"/bin/python3", "a.py"}, "  /bin/python3 a.py  "},
	} {
		d := redis()
		d.Process.Cmdline = c.arguments
		var out bytes.Buffer
		if err := Text(&out, d, Options{Group: true, Width: 80}); err != nil {
			t.Fatal(err)
		}
		if first, _, _ := strings.Cut(out.String(), "\n"); !strings.Contains(first, c.want) {
			t.Errorf("%q: %q, want %q in it", c.arguments, first, c.want)
		}
	}
}

// TestWidthOfATitle: what a server says of itself is whole where it fits into a line, as it says at the end what it
// does; the counts follow in the next.
func TestWidthOfATitle(t *testing.T) {
	for title, want := range map[string]string{
		"postgres: shop customers 10.0.0.7(51000) SELECT  ": "process 4121 redis-server  postgres: shop " +
			"customers 10.0.0.7(51000) SELECT\n  4 threads, stopped",
		"redis-server: idle":                "process 4121 redis-server  redis-server: idle  4 threads, stopped",
		"redis: " + strings.Repeat("x", 80): "process 4121 redis-server  redis: xxxxxxxxxxxxxxxxx…  4 threads, stopped",
	} {
		d := redis()
		d.Process.Cmdline = []string{title}
		var out bytes.Buffer
		if err := Text(&out, d, Options{Group: true, Width: 80}); err != nil {
			t.Fatal(err)
		}
		if !strings.HasPrefix(out.String(), want) {
			t.Errorf("%q: got %.120q, want %q", title, out.String(), want)
		}
	}
}
