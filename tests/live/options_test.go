//go:build linux

package live

import (
	"encoding/json"
	"errors"
	"io"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"unicode"
	"unicode/utf8"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

const sgr = "\x1b["

// entryLine begins an entry of the text: one thread, or several with the same stack.
var entryLine = regexp.MustCompile(`(?m)^(\d+ threads )?(\d\S*) "`)

// checkUsage fails unless o is the end of a wrong command line: status 64 and a first line that says want.
func checkUsage(t testing.TB, o outcome, want string) {
	t.Helper()
	first, _, _ := strings.Cut(o.stderr, "\n")
	if o.status != 64 || o.stdout != "" || !strings.HasPrefix(first, "fpstack: ") || !strings.Contains(first, want) {
		t.Errorf("status %d, output %q, standard error %q; want 64, nothing and %q", o.status, o.stdout, o.stderr, want)
	}
	checkClean(t, o.stderr)
}

// checkClean fails if text holds a byte that a terminal might obey, or that is no UTF-8.
func checkClean(t testing.TB, text string) {
	t.Helper()
	if !utf8.ValidString(text) {
		t.Errorf("not UTF-8: %q", text)
	}
	for i, r := range text {
		if r != '\n' && !unicode.IsPrint(r) {
			t.Errorf("control character %q at byte %d of %q", r, i, text)
			return
		}
	}
}

// text runs fpstack for text, which must show all.
func text(t testing.TB, args ...string) string {
	t.Helper()
	o := show(t, args...)
	if o.status != 0 {
		t.Fatalf("fpstack %q: status %d\n%s", args, o.status, o.stderr)
	}
	return o.stdout
}

func TestGroups(t *testing.T) {
	pid := sleeper(t)
	if got := entryLine.FindAllString(text(t, "-p", pid), -1); len(got) != 2 {
		t.Errorf("entries %q, want one for the main thread and one for the four others", got)
	}
	if got := entryLine.FindAllString(text(t, "-p", pid, "--no-group"), -1); len(got) != 5 {
		t.Errorf("entries without groups %q, want 5", got)
	}
}

func TestThreadIDs(t *testing.T) {
	pid := sleeper(t)
	n, _ := strconv.Atoi(pid)
	tids := threadsOf(n)
	second, third := strconv.Itoa(tids[1]), strconv.Itoa(tids[2])
	for _, tt := range []struct {
		name   string
		args   []string
		want   []string
		status int
	}{
		{"one", []string{"-t", second}, []string{second}, 0},
		{"two, comma separated", []string{"-t", second + "," + third}, []string{second, third}, 0},
		{"the leader", []string{"-t", pid}, []string{pid}, 0},
		{"one of this process and none", []string{"-t", second + "," + unusedPID(t)}, []string{second}, 1},
		{"none of this process", []string{"-t", unusedPID(t)}, nil, 2},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := show(t, append([]string{"-p", pid, "--no-group"}, tt.args...)...)
			var got []string
			for _, m := range entryLine.FindAllStringSubmatch(o.stdout, -1) {
				got = append(got, m[2])
			}
			if strings.Join(got, " ") != strings.Join(tt.want, " ") || o.status != tt.status {
				t.Errorf("threads %v, status %d; want %v, %d\n%s%s", got, o.status, tt.want, tt.status,
					o.stdout, o.stderr)
			}
		})
	}
}

func TestFrameLimits(t *testing.T) {
	p := runTarget(t, "threads", "1", "2000")
	tid := threadsOf(p.pid)[1]
	frames := func(args ...string) *thread { return dumpJSON(t, p.pid, args...).thread(t, tid) }
	full := frames("--max-frames", "0")
	if n := len(full.Stack.Frames); n < 2004 || !full.Stack.Complete {
		t.Errorf("no limit: %d frames, complete %v; want more than 2003, true", n, full.Stack.Complete)
	}
	for _, tt := range []struct {
		args []string
		want int
	}{
		{[]string{"--max-frames", "3"}, 3},
		{[]string{"--max-frames", "1"}, 1},
		{nil, 1024},
	} {
		th := frames(tt.args...)
		if len(th.Stack.Frames) != tt.want || th.Stack.Complete || th.Stack.Stop != "depth limit" {
			t.Errorf("%v: %d frames, complete %v, stop %q; want %d, false, depth limit", tt.args, len(th.Stack.Frames),
				th.Stack.Complete, th.Stack.Stop, tt.want)
		}
	}
	pid := strconv.Itoa(p.pid)
	if out := text(t, "-p", pid, "--max-frames", "3"); !strings.Contains(out, "! stack cut: ") ||
		strings.Contains(out, "#3") {
		t.Errorf("3 frames in text:\n%s", out)
	}
	skipped := text(t, "-p", pid, "-t", strconv.Itoa(tid), "--skip-frames", "2", "--max-frames", "0")
	if _, stack, _ := strings.Cut(skipped, "\n  "); !strings.Contains(stack, "descend") ||
		strings.Contains(skipped, "bottom") || strings.Contains(skipped, "  pause ") {
		t.Errorf("the two innermost frames left out:\n%.300s", skipped)
	}
	if out := text(t, "-p", pid, "--skip-frames", "5000", "--max-frames", "0"); !strings.Contains(out, "left out") {
		t.Errorf("all frames left out, and not reported:\n%s", out)
	}
}

// TestFramePointersOnly: the bare chain is right where there is one, and where there is none
// it shows nothing that is not on the true stack but the frame behind the first.
func TestFramePointersOnly(t *testing.T) {
	for _, name := range []string{"threads-fp", "threads-notables-fp", "threads-clang-fp", "threads-go", "threads"} {
		t.Run(name, func(t *testing.T) {
			p := runTarget(t, name, "2", "20")
			truth, bare := dumpJSON(t, p.pid), dumpJSON(t, p.pid, "--unwind", "fp")
			for i := range bare.Threads {
				th := &bare.Threads[i]
				known := map[string]bool{}
				whole := truth.thread(t, th.TID).Stack.Frames
				if whole[0].Address != th.Stack.Frames[0].Address {
					continue // a thread of Go's runtime moved
				}
				for _, f := range whole {
					known[f.Address] = true
				}
				for j, f := range th.Stack.Frames {
					if !known[f.Address] {
						t.Errorf("thread %d: frame %d at %s is not on the stack", th.TID, j, f.Address)
					}
					if f.Origin != "context" && f.Origin != "frame pointer" && !f.Inlined {
						t.Errorf("thread %d: frame %d was found by %q", th.TID, j, f.Origin)
					}
				}
				if name == "threads-fp" && th.TID != p.pid && len(th.Stack.Frames) < 20 {
					t.Errorf("thread %d: %d frames of a chain of more than 20", th.TID, len(th.Stack.Frames))
				}
			}
		})
	}
}

func TestNoSymbols(t *testing.T) {
	p := runTarget(t, "threads", "1", "3")
	d := dumpJSON(t, p.pid, "--names=none")
	for _, th := range d.Threads {
		for i, f := range th.Stack.Frames {
			if f.Function != "" || f.Module == nil || f.ModuleAddress == "" {
				t.Errorf("thread %d frame %d: function %q, module address %q; want none, some", th.TID, i, f.Function,
					f.ModuleAddress)
			}
		}
	}
	if out := text(t, "-p", strconv.Itoa(p.pid), "--names=none"); strings.Contains(out, " pause") ||
		!strings.Contains(out, " threads+0x") {
		t.Errorf("without symbols:\n%s", out)
	}
}

func TestVerbose(t *testing.T) {
	out := text(t, "-v", "-p", sleeper(t))
	for _, want := range []string{"{context}", "{cfi}", "modules", "libc"} {
		if !strings.Contains(out, want) {
			t.Errorf("no %q in\n%s", want, out)
		}
	}
}

func TestRolling(t *testing.T) {
	p := runTarget(t, "threads", "50", "5")
	if out := text(t, "-p", strconv.Itoa(p.pid), "--rolling"); !strings.Contains(out, "rolling") ||
		!strings.Contains(out, "51 threads") {
		t.Errorf("rolling:\n%.500s", out)
	}
}

// TestColour: never into a pipe unless requested.
func TestColour(t *testing.T) {
	pid := sleeper(t)
	for _, tt := range []struct {
		name    string
		noColor string
		args    []string
		want    bool
	}{
		{"a pipe", "", nil, false},
		{"always", "", []string{"--color", "always"}, true},
		{"always wins over NO_COLOR", "1", []string{"--color", "always"}, true},
		{"never", "", []string{"--color", "never"}, false},
		{"JSON has none", "", []string{"--color", "always", "-f", "json"}, false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("NO_COLOR", tt.noColor)
			if got := strings.Contains(show(t, append(tt.args, "-p", pid)...).stdout, sgr); got != tt.want {
				t.Errorf("colour %v, want %v", got, tt.want)
			}
		})
	}
}

// TestColourOnATerminal uses script(1), which gives its command a terminal.
func TestColourOnATerminal(t *testing.T) {
	script := installed(t, "script")
	command := fpstack + " -p " + sleeper(t)
	for _, tt := range []struct {
		name, noColor string
		args          string
		want          bool
	}{
		{"a terminal", "", "", true},
		{"NO_COLOR", "1", "", false},
		{"never", "", " --color never", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			t.Setenv("NO_COLOR", tt.noColor)
			t.Setenv("TERM", "xterm")
			o := execute(t, bound, script, "-q", "-e", "-c", command+tt.args, "/dev/null")
			if got := strings.Contains(o.stdout, sgr); got != tt.want || !strings.Contains(o.stdout, "process ") {
				t.Errorf("colour %v, want %v\n%q", got, tt.want, o.stdout)
			}
		})
	}
}

// TestOutputFile: a file is written whole or not at all.
func TestOutputFile(t *testing.T) {
	pid, dir := sleeper(t), room(t)
	path := filepath.Join(dir, "dump")
	if o := show(t, "-p", pid, "-o", path); o.status != 0 || o.stdout != "" {
		t.Errorf("status %d, output %q, %s", o.status, o.stdout, o.stderr)
	}
	b, err := os.ReadFile(path)
	if err != nil || !strings.HasPrefix(string(b), "process "+pid) {
		t.Errorf("file: %q, %v", b, err)
	}
	if o := show(t, "-p", unusedPID(t), "-o", path); o.status != 2 {
		t.Errorf("no process: status %d, want 2", o.status)
	}
	if again, _ := os.ReadFile(path); string(again) != string(b) {
		t.Errorf("a run that showed nothing changed the file: %q", again)
	}
	if o := show(t, "-p", pid+","+unusedPID(t), "-o", path); o.status != 1 {
		t.Errorf("one of two: status %d, want 1", o.status)
	}
	for _, bad := range []string{filepath.Join(dir, "no", "dump"), dir} {
		if o := show(t, "-p", pid, "-o", bad); o.status != 2 || !strings.HasPrefix(o.stderr, "fpstack: ") {
			t.Errorf("-o %s: status %d, %q; want 2 and a reason", bad, o.status, o.stderr)
		}
	}
	if left, _ := filepath.Glob(filepath.Join(dir, ".*")); len(left) > 0 {
		t.Errorf("temporary files stay: %v", left)
	}
}

// TestOutputFull: a full disk is an error, for standard output too.
func TestOutputFull(t *testing.T) {
	pid := sleeper(t)
	for _, format := range []string{"text", "json"} {
		o := execute(t, bound, "sh", "-c", `exec "$0" "$@" >/dev/full`, fpstack, "-p", pid, "-f", format)
		checkEnd(t, o, nil)
		if o.status != 2 || !strings.Contains(o.stderr, "no space left on device") {
			t.Errorf("%s: status %d, %q; want 2 and the reason", format, o.status, o.stderr)
		}
	}
}

// TestPipeCloses: a reader that ends early, as head does, is no reason for noise.
func TestPipeCloses(t *testing.T) {
	p := runTarget(t, "threads", "200", "200")
	o := execute(t, bound, "bash", "-c", `"$0" --no-group -p "$1" | head -1; echo "${PIPESTATUS[0]}"`, fpstack,
		strconv.Itoa(p.pid))
	if !strings.HasPrefix(o.stdout, "process ") || strings.Contains(o.stderr, "goroutine") {
		t.Errorf("%q\n%s", o.stdout, o.stderr)
	}
	asleep(t, p.pid)
}

// TestSchema validates what comes out against docs/schema.
func TestSchema(t *testing.T) {
	schema, err := jsonschema.NewCompiler().Compile("../../docs/schema/fpstack.dump.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		program string
		args    []string
		options []string
	}{
		{"threads", []string{"3", "10"}, nil},
		{"threads-go", []string{"3", "10"}, nil},
		{"threads-m32", []string{"3", "10"}, []string{"-v"}},
		{"threads-musl", []string{"3", "10"}, []string{"--names=none"}},
		{"signals", []string{"nested"}, []string{"--max-frames", "3"}},
		{"except", nil, []string{"--unwind", "fp", "--skip-frames", "1"}},
	} {
		t.Run(tt.program, func(t *testing.T) {
			p := runTarget(t, tt.program, tt.args...)
			o := show(t, append(tt.options, "-f", "json", "-p", strconv.Itoa(p.pid))...)
			checkSchema(t, schema, o.stdout)
		})
	}
}

func checkSchema(t *testing.T, schema *jsonschema.Schema, text string) {
	t.Helper()
	for dec := json.NewDecoder(strings.NewReader(text)); ; {
		var raw json.RawMessage
		if err := dec.Decode(&raw); errors.Is(err, io.EOF) {
			return
		} else if err != nil {
			t.Fatal(err)
		}
		doc, err := jsonschema.UnmarshalJSON(strings.NewReader(string(raw)))
		if err != nil {
			t.Fatal(err)
		}
		if err := schema.Validate(doc); err != nil {
			t.Error(err)
		}
	}
}
