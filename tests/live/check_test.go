//go:build linux

package live

import (
	"encoding/json"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/santhosh-tekuri/jsonschema/v6"
)

// checked is what the tests want of a document of fpstack.check/1.
type checked struct {
	Modules []struct {
		Path    string
		Tables  struct{ Kinds []struct{ Name string } }
		Symbols []struct{ Name, Path string }
		Frames  struct{ Kept, Missing int } `json:"frame_pointers"`
		Mend    []struct{ Aspect, How string }
		Error   string
	}
	Threads []struct {
		TIDs            []int
		Frames, Reached int
		Breaks          []struct {
			Frame, Lost                            int
			Function, Module, Effect, Reason, Mend string
			Also                                   []struct {
				Function, Module string
				Frames           int
			}
		}
	}
	Unmet []struct {
		Module int
		Aspect string
	}
}

// checkJSON runs fpstack check and reads its document, which the schema must accept.
func checkJSON(t *testing.T, status int, args ...string) *checked {
	t.Helper()
	o := show(t, append([]string{"check", "-f", "json"}, args...)...)
	if o.status != status {
		t.Fatalf("fpstack check %q: status %d, want %d\n%s", args, o.status, status, o.stderr)
	}
	schema, err := jsonschema.NewCompiler().Compile("../../docs/schema/fpstack.check.1.schema.json")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := jsonschema.UnmarshalJSON(strings.NewReader(o.stdout))
	if err != nil {
		t.Fatal(err)
	}
	if err := schema.Validate(doc); err != nil {
		t.Error(err)
	}
	var c checked
	if err := json.Unmarshal([]byte(o.stdout), &c); err != nil {
		t.Fatal(err)
	}
	return &c
}

// TestCheckRequires: what a CI job hears of programs whose flags are known (scripts/build-live).
func TestCheckRequires(t *testing.T) {
	for _, tt := range []struct {
		name, require string
		status        int
	}{
		{"threads", "fp", 1}, {"threads", "tables,symbols", 0},
		{"threads-fp", "fp,tables,symbols", 0},
		{"threads-notables", "tables", 0}, // -g leaves .debug_frame
		{"threads-stripped", "symbols", 1}, {"threads-stripped", "tables", 0},
		{"threads-musl-static", "tables", 1}, {"threads-musl-static", "fp", 1},
		{"threads-go", "fp,tables,symbols", 0}, {"threads-go-stripped", "fp,tables,symbols", 0},
		{"threads-go-386", "fp", 1},
		{"threads-rust", "fp", 1}, {"threads-rust-fp", "fp,tables,symbols", 0},
		{"threads-m32", "fp", 1}, {"threads-m32-fp", "fp,tables,symbols", 0},
		{"threads-clang", "fp", 1}, {"threads-clang-fp", "fp", 0},
	} {
		t.Run(tt.name+" "+tt.require, func(t *testing.T) {
			c := checkJSON(t, tt.status, program(t, tt.name), "--require", tt.require)
			if (len(c.Unmet) > 0) != (tt.status == 1) {
				t.Errorf("status %d, unmet %v", tt.status, c.Unmet)
			}
			for _, u := range c.Unmet {
				if len(c.Modules[u.Module].Mend) == 0 {
					t.Errorf("%s is not met, and no fix is named", u.Aspect)
				}
			}
		})
	}
}

// TestCheckTablesGone: stripped, the program without asynchronous tables has nothing left.
func TestCheckTablesGone(t *testing.T) {
	strip := installed(t, "strip")
	path := filepath.Join(room(t), "bare")
	execute(t, bound, strip, "-o", path, program(t, "threads-notables"))
	c := checkJSON(t, 1, path, "--require", "tables", "--require", "symbols")
	if len(c.Unmet) != 2 || len(c.Modules[0].Tables.Kinds) != 0 {
		t.Errorf("unmet %v, tables %v", c.Unmet, c.Modules[0].Tables)
	}
}

// TestCheckStatus: 2 if nothing could be read, 1 if a part.
func TestCheckStatus(t *testing.T) {
	good, dir := program(t, "threads-fp"), room(t)
	text := filepath.Join(dir, "text")
	if err := os.WriteFile(text, []byte("no object\n"), 0o644); err != nil {
		t.Fatal(err)
	}
	for _, tt := range []struct {
		name   string
		args   []string
		status int
		stderr string
	}{
		{"nothing named", nil, 64, "nothing to check"},
		{"process and file", []string{"-p", "1", good}, 64, "give one of them"},
		{"unknown requirement", []string{good, "--require", "speed"}, 64, "speed"},
		{"bad pattern", []string{good, "--module", "[a"}, 64, "[a"},
		{"no such file", []string{filepath.Join(dir, "gone")}, 2, "gone"},
		{"no object", []string{text}, 2, "text"},
		{"a directory", []string{dir}, 2, ""},
		{"one of two", []string{text, good}, 1, "text"},
		{"no process", []string{"-p", unusedPID(t)}, 2, "no such process"},
		{"pattern that fits nothing", []string{good, "--module", "lib*"}, 2, "--module"},
		{"pattern that fits", []string{good, "--module", "threads-*"}, 0, ""},
	} {
		t.Run(tt.name, func(t *testing.T) {
			o := show(t, append([]string{"check"}, tt.args...)...)
			if o.status != tt.status || !strings.Contains(o.stderr, tt.stderr) {
				t.Errorf("status %d, want %d; standard error %q, want %q in it", o.status, tt.status,
					o.stderr, tt.stderr)
			}
		})
	}
}

// TestCheckThreads: the threads of a program wait in pause below ten calls of descend. With frame
// pointers in the program only libc breaks the chain; without, the program does too.
func TestCheckThreads(t *testing.T) {
	t.Parallel()
	for _, tt := range []struct {
		name    string
		culprit bool // the program itself keeps none
	}{
		{"threads", true}, {"threads-fp", false}, {"threads-notables-fp", false}, {"threads-m32", true},
		{"threads-m32-fp", false},
		{"threads-rust", false}, {"threads-rust-fp", false}, {"threads-clang", true}, {"threads-clang-fp", false},
	} {
		t.Run(tt.name, func(t *testing.T) {
			p := runTarget(t, tt.name, "4", "10")
			c := checkJSON(t, 0, "-p", strconv.Itoa(p.pid))
			dump := dumpJSON(t, p.pid)
			seen := 0
			for _, group := range c.Threads {
				seen += len(group.TIDs)
				if want := len(physical(dump.thread(t, group.TIDs[0]).Stack.Frames)); group.Frames != want {
					t.Errorf("thread %d: %d frames, its dump has %d", group.TIDs[0], group.Frames, want)
				}
				lost, ours := 0, false
				for _, b := range group.Breaks {
					lost += b.Lost
					ours = ours || filepath.Base(b.Module) == tt.name
					for _, a := range b.Also {
						ours = ours || filepath.Base(a.Module) == tt.name
					}
				}
				if ours != tt.culprit && tt.name != "threads-rust" {
					t.Errorf("thread %d: program blamed: %v, want %v: %+v", group.TIDs[0], ours, tt.culprit,
						group.Breaks)
				}
				if len(group.Breaks) < 8 && group.Reached+lost != group.Frames {
					t.Errorf("thread %d: %d of %d frames reached, %d lost", group.TIDs[0], group.Reached,
						group.Frames, lost)
				}
				if len(group.Breaks) == 0 || group.Breaks[0].Frame != 0 ||
					group.Breaks[0].Mend == "" && !strings.Contains(tt.name, "m32") {
					t.Errorf("thread %d: libc's pause keeps no frame pointer, and that is not the first break: %+v",
						group.TIDs[0], group.Breaks)
				}
			}
			if seen != len(dump.Threads) {
				t.Errorf("%d threads of %d", seen, len(dump.Threads))
			}
		})
	}
}

// TestCheckBareChain: how far the bare chain goes is what `--unwind fp` shows.
func TestCheckBareChain(t *testing.T) {
	for _, name := range []string{"threads-fp", "threads-rust-fp", "threads-m32-fp", "deep-fp", "threads-go"} {
		t.Run(name, func(t *testing.T) {
			p := runTarget(t, name, "4", "10")
			c := checkJSON(t, 0, "-p", strconv.Itoa(p.pid))
			d := dumpJSON(t, p.pid, "--unwind", "fp")
			for _, group := range c.Threads {
				for _, tid := range group.TIDs {
					if got := len(physical(d.thread(t, tid).Stack.Frames)); name != "threads-go" &&
						got != group.Reached {
						t.Errorf("thread %d: %d frames reached, --unwind fp shows %d", tid, group.Reached, got)
					}
				}
				if group.Frames-group.Reached > 4 { // pause, the start of the thread or program; on 386 the vDSO
					t.Errorf("threads %v: only %d of %d frames", group.TIDs, group.Reached, group.Frames)
				}
			}
		})
	}
}

// TestCheckLibcHasSymbols: the separate debug file is found where the distribution puts it.
func TestCheckLibcHasSymbols(t *testing.T) {
	if m, _ := filepath.Glob("/usr/lib/debug/.build-id/*/*.debug"); len(m) == 0 {
		t.Skip("libc6-dbg is not installed: no separate debug files")
	}
	p := runTarget(t, "threads", "4", "10")
	c := checkJSON(t, 0, "-p", strconv.Itoa(p.pid), "--module", "libc.so.6", "--require", "symbols")
	if len(c.Modules) != 1 || !strings.HasPrefix(c.Modules[0].Symbols[0].Path, "/usr/lib/debug/") {
		t.Errorf("modules %+v", c.Modules)
	}
}

// TestCheckOfCutFiles: a file that ends anywhere gives a word or a result, never more.
func TestCheckOfCutFiles(t *testing.T) {
	data, err := os.ReadFile(program(t, "threads-fp"))
	if err != nil {
		t.Fatal(err)
	}
	dir := room(t)
	for i := range 20 {
		path := filepath.Join(dir, strconv.Itoa(i))
		if err := os.WriteFile(path, data[:len(data)*i/20], 0o644); err != nil {
			t.Fatal(err)
		}
		if o := show(t, "check", path, "--require", "symbols"); o.status > 2 || o.status == 2 && o.stderr == "" {
			t.Errorf("%d of 20 parts: status %d, %q", i, o.status, o.stderr)
		}
	}
}
