//go:build linux

package wasm

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// wasmFrames are the frames of functions of modules.
func (s *sampled) wasmFrames() []profile.Frame {
	return slices.DeleteFunc(slices.Clone(s.named.Frames), func(f profile.Frame) bool { return f.Kind != profile.Wasm })
}

// TestModule: a frame names the module by its number, or by the file that it was loaded from, and the whole name.
func TestModule(t *testing.T) {
	eachVersion(t, func(t *testing.T, v string) {
		path := filepath.Join(t.TempDir(), "module.cwasm")
		for mode, file := range map[string]string{"sleep": "wasm[0]", "file": path} {
			h := start(t, "host-v"+v, mode, path)
			frames := h.undelayed().wasmFrames()
			if len(frames) == 0 {
				t.Errorf("%s: no frame of WebAssembly", mode)
			}
			for _, f := range frames {
				if f.File != file || f.Line != 0 || !strings.HasPrefix(f.Linkage, "wasm[0]::function[") {
					t.Errorf("%s: %+v, want file %q", mode, f, file)
				}
			}
		}
	})
}

// TestExports: functions of a module without a name section are named by their exports.
func TestExports(t *testing.T) {
	nameless := t.TempDir()
	for _, name := range []string{"module.wasm", "other.wasm"} {
		b, err := os.ReadFile(filepath.Join(modules, name))
		if err == nil {
			err = os.WriteFile(filepath.Join(nameless, name), withoutNames(t, b), 0o644)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	eachVersion(t, func(t *testing.T, v string) {
		h := startIn(t, nameless, "host-v"+v, "sleep")
		var got []string
		for _, f := range h.undelayed().wasmFrames() {
			got = append(got, f.Func)
			if f.Unsure || f.Note != "" {
				t.Errorf("%+v", f)
			}
		}
		want := []string{"wasm-function[6]", "wasm-function[7]", "wasm-function[7]", "wasm-function[7]",
			"wasm-function[7]", "import_main"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// withoutNames is a module without its name section.
func withoutNames(t *testing.T, module []byte) []byte {
	t.Helper()
	const head, custom, section = 8, 0, "\x04name"
	out, rest := slices.Clone(module[:head]), module[head:]
	for len(rest) > 0 {
		size, n := binary.Uvarint(rest[1:])
		if n <= 0 || size > uint64(len(rest)-1-n) {
			t.Fatal("the module is malformed")
		}
		body := rest[1+n:][:size]
		if rest[0] != custom || !bytes.HasPrefix(body, []byte(section)) {
			out = append(out, rest[:1+n+int(size)]...)
		}
		rest = rest[1+n+int(size):]
	}
	return out
}

// mostSamples is after how many a program is given up that should be in its module in most of them: on a busy machine
// it is elsewhere too, in the first moments and where its host changes threads.
const mostSamples = 200

// TestLines: of a module with DWARF, compiled with debug information, lines and what was inlined. lines_leaf is lines 5
// to 11 of lines.c, its caller 13 to 17; v30 translates the end of what was inlined too late.
func TestLines(t *testing.T) {
	eachVersion(t, func(t *testing.T, v string) {
		h := start(t, "host-v"+v, "debug")
		inlined := 0
		for n := 0; n < 20 || inlined < 10 && n < mostSamples; n++ {
			s := h.undelayed()
			for _, f := range s.wasmFrames() {
				ok := false
				switch {
				case filepath.Base(f.File) != "lines.c":
				case f.Func == "lines_leaf":
					inlined++
					ok = f.Inlined && f.Line >= 5 && f.Line <= 17
				case f.Func == "lines_outer":
					ok = f.Line >= 13 && f.Line <= 17
				case f.Func == "lines_main":
					ok = f.Line >= 19 && f.Line <= 25
				}
				if !ok {
					t.Fatalf("%+v\n%s", f, s.text())
				}
			}
		}
		if inlined < 10 {
			t.Errorf("%d of %d samples in the inlined loop", inlined, mostSamples)
		}
	})
}

// TestMany: in a module with 30,000 functions each has its own name.
func TestMany(t *testing.T) {
	eachVersion(t, func(t *testing.T, v string) {
		h := start(t, "host-v"+v, "many")
		got := h.undelayed().chain()
		want := []string{"host_leaf", "host_wait", "number_15000_of_many_functions_with_long_names",
			"number_15001_of_many_functions_with_long_names", "host_call", "run_many", "main"}
		if !slices.Equal(got, want) {
			t.Errorf("got %q, want %q", got, want)
		}
	})
}

// TestProfilers: names are the same where wasmtime writes files for a profiler.
func TestProfilers(t *testing.T) {
	for _, p := range []string{"perfmap", "jitdump"} {
		t.Run(p, func(t *testing.T) {
			eachVersion(t, func(t *testing.T, v string) {
				t.Setenv("PROFILER", p)
				h := start(t, "host-v"+v, "names")
				if got, want := h.undelayed().chain(), slices.Concat(namesChain,
					[]string{"host_call", "run_names", "main"}); !slices.Equal(got, want) {
					t.Errorf("got %q, want %q", got, want)
				}
			})
		})
	}
}

// TestGo: a Go program that runs modules by cgo, in WebAssembly and in Go that WebAssembly called. The stack of the
// goroutine is copied in the stop: C in the program has variables of each thread too, beside that which leads there.
// A goroutine that has given up the thread, and one that there was no time for, is read later: what is shown then is of
// the stack, and if it is not all it says so.
func TestGo(t *testing.T) {
	for mode, chain := range map[string][]string{"work": workChain[1:], "spin": importChain[2:]} {
		want := strings.Join(chain, " ") + " main.run main.main"
		whole := slices.Concat([]string{"main.goSpin", "main.run.func1", "work_leaf"}, chain,
			[]string{"main.run", "main.main"})
		eachVersion(t, func(t *testing.T, v string) {
			h := start(t, "gohost-v"+v, mode)
			met := 0
			for n := 0; n < 20 || met < 10 && n < mostSamples; n++ {
				for _, s := range h.sample() {
					got := strings.Join(s.chain(), " ")
					if len(s.wasmFrames()) < len(chain) {
						continue
					}
					inGo := mode == "spin" && !s.goWaits() // else Go has taken the thread from it for a moment
					if s.delayed || s.goWaits() && s.stack.Late {
						if !s.named.Complete && s.named.Detail == "" || !isPart(s.chain(), whole) {
							t.Fatalf("%s, late: got %q, want a part of %q\n%s", mode, got, whole, s.text())
						}
						continue
					}
					if met++; !strings.HasSuffix(got, want) || !s.named.Complete || s.stack.Late ||
						inGo && !strings.HasPrefix(got, "main.goSpin") {
						t.Fatalf("%s: got %q, want %q at the end\n%s", mode, got, want, s.text())
					}
				}
			}
			if met < 10 {
				t.Errorf("%s: %d of %d samples in the module", mode, met, mostSamples)
			}
		})
	}
}

// isPart reports whether the functions of got follow each other in whole, where some may be missing.
func isPart(got, whole []string) bool {
	for _, name := range got {
		i := slices.Index(whole, name)
		if i < 0 {
			return false
		}
		whole = whole[i+1:]
	}
	return true
}

// TestGoWaits: where Go that WebAssembly called waits, its thread shows WebAssembly below the scheduler of Go, and that
// frames of the goroutine are missing.
func TestGoWaits(t *testing.T) {
	want := strings.Join(importChain[2:], " ") + " main.run main.main"
	eachVersion(t, func(t *testing.T, v string) {
		h := start(t, "gohost-v"+v, "sleep")
		for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(5 * time.Millisecond) {
			if slices.ContainsFunc(h.sample(), func(s sampled) bool { // it says so before it sleeps
				return len(s.wasmFrames()) > 0 && !slices.Contains(s.chain(), "main.goLeaf")
			}) {
				break
			}
		}
		met, others := 0, ""
		for range 5 {
			for _, s := range h.sample() {
				if len(s.wasmFrames()) == 0 {
					others += fmt.Sprintf("thread %d:\n%s\n", s.thread.TID, s.text())
					continue
				}
				met++
				if got := strings.Join(s.chain(), " "); got != want || !s.named.Complete || !s.goWaits() {
					t.Errorf("got %q, want %q\n%s", got, want, s.text())
				}
			}
		}
		if met != 5 {
			t.Errorf("5 samples have %d stacks with WebAssembly\n%s", met, others)
		}
	})
}

// goWaits reports whether s is of a thread that has left a goroutine which C called, and says so.
func (s *sampled) goWaits() bool {
	left := slices.IndexFunc(s.named.Frames, func(f profile.Frame) bool { return f.Func == "crosscall2" })
	return left > 0 && s.named.Frames[left-1].Func == "runtime.mcall" &&
		strings.Contains(s.named.Frames[left].Note, "the goroutine that was called from here waits")
}
