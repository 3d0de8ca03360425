//go:build linux

package v8

import (
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/walked"
)

// wasmModes are ways to compile WebAssembly.
var wasmModes = []mode{
	{"default", nil}, {"liftoff", []string{"--no-wasm-tier-up"}}, {"turbofan", []string{"--no-liftoff"}},
}

// TestWasm: functions of WebAssembly have the names of their module and are called by one another, and by JavaScript,
// as the script knows; in V8 13 and later those that TurboFan has inlined may be missing.
func TestWasm(t *testing.T) {
	for _, version := range versions(t) {
		if !*full && !slices.Contains(quickMajors, majorOf(version)) {
			continue
		}
		for _, m := range wasmModes {
			if !*full && m.name != "default" {
				continue
			}
			if majorOf(version) < 20 { // the module has tail calls, which are on by default later
				m.flags = append(slices.Clone(m.flags), "--experimental-wasm-return_call")
			}
			for _, chain := range []string{"spin", "again", "names"} {
				t.Run(version+"/"+m.name+"/"+chain, func(t *testing.T) {
					checkWasm(t, start(t, version, m.flags, "wasm.js", chain), majorOf(version) >= 24)
				})
			}
		}
	}
}

func checkWasm(t *testing.T, x *target, inlines bool) {
	const samples = 25
	with, whole := 0, 0
	for i := range samples {
		walked.Pause(i)
		s := x.Stop(t)
		stack := &x.Stacks(s)[0]
		names := calls(stack, x.Chain)
		if !slices.ContainsFunc(stack.Frames, func(f profile.Frame) bool { return f.Kind == profile.Wasm }) {
			if i == samples-1 && with == 0 {
				x.describe(t, stack)
			}
			continue // at the start of a round, or in V8's own code
		}
		with++
		if slices.Equal(names, x.Chain) {
			whole++
		}
		if !isPart(names, x.Chain, inlines) || !stack.Complete {
			x.describe(t, stack)
			t.Errorf("sample %d: %s is no part of %s (%s)", i, strings.Join(names, " < "),
				strings.Join(x.Chain, " < "), stack.Detail)
		}
		for i, f := range stack.Frames {
			if i == 0 && strings.HasPrefix(f.Note, "not named") {
				continue // its frame is being built, and nothing of the module was met before
			}
			foreign := f.Kind == profile.Wasm && f.File != "" && !strings.HasPrefix(f.File, "wasm://")
			if foreign || f.Func == "WasmFrame" || strings.HasPrefix(f.Note, "not named") {
				t.Errorf("frame %s of %q: %s", f.Func, f.File, f.Note)
			}
		}
	}
	t.Logf("%d samples have WebAssembly, %d the whole chain", with, whole)
	if with < samples/2 || whole == 0 && !inlines {
		t.Errorf("%d of %d samples have WebAssembly, %d the whole chain", with, samples, whole)
	}
}

// calls are the functions of JavaScript and WebAssembly on a stack, up to the last of chain.
func calls(s *profile.Stack, chain []string) (names []string) {
	for i := range s.Frames {
		f := &s.Frames[i]
		if (f.Kind == profile.JavaScript || f.Kind == profile.Wasm) && !f.Stub && slices.Contains(chain, f.Func) {
			names = append(names, f.Func)
		}
	}
	return names
}

// isPart reports whether names are the outer part of chain; some may be missing if gaps are allowed.
func isPart(names, chain []string, gaps bool) bool {
	if len(names) > len(chain) || len(names) == 0 || names[len(names)-1] != chain[len(chain)-1] {
		return false
	}
	if !gaps {
		return slices.Equal(names, chain[len(chain)-len(names):])
	}
	for _, c := range chain {
		if len(names) > 0 && names[0] == c {
			names = names[1:]
		}
	}
	return len(names) == 0
}
