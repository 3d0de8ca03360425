//go:build linux

package v8

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/tests/walked"
	"github.com/fpstack/fpstack/vm"
)

// TestFunctions: the code that is listed has at each PC the function, file, line and compiler that the frame of a
// sample has there, which is found by other ways: the frame's closure, and the code around the PC.
func TestFunctions(t *testing.T) {
	for _, version := range versions(t) {
		if !*full && !slices.Contains(quickMajors, majorOf(version)) {
			continue
		}
		for _, m := range modes(majorOf(version)) {
			if slices.Contains(harness.With([]string{"default"}, "sparkplug", "maglev"), m.name) {
				t.Run(version+"/"+m.name, func(t *testing.T) { checkList(t, start(t, version, m.flags, "loop.js")) })
			}
		}
	}
}

// markOf is how a name of V8 says which compiler has made the code.
var markOf = map[string]string{"baseline": "^", "maglev": "+", "turbofan": "*"}

func checkList(t *testing.T, x *target) {
	var frames []profile.Frame
	for i := 0; i < 40 || len(frames) < 40 && i < 400; i++ {
		walked.Pause(i)
		for _, f := range x.Stacks(x.Stop(t))[0].Frames {
			if !f.Inlined && markOf[f.Tier] != "" && strings.HasSuffix(f.File, "loop.js") {
				frames = append(frames, f)
			}
		}
	}
	all, listers, err := x.Runtimes.Functions()
	if err != nil || listers == 0 {
		t.Errorf("%d can list: %v", listers, err)
	}
	builtins, bad := 0, 0
	for i := range all {
		if strings.HasPrefix(all[i].Name, "Builtin:") {
			builtins++
		}
	}
	for i := range frames {
		f := &frames[i]
		want := fmt.Sprintf("JS:%s%s %s:", markOf[f.Tier], f.Func, f.File)
		if got := at(all, f.Addr-1); !strings.HasPrefix(got, want) {
			if bad++; bad < 4 {
				t.Logf("%#x is %q, want %s", f.Addr, got, want)
			}
		}
	}
	if bad*20 > len(frames) || len(frames) < 40 { // code is replaced meanwhile
		t.Errorf("%d of %d frames have another name in the list of %d", bad, len(frames), len(all))
	}
	if builtins < 1000 {
		t.Errorf("%d builtins", builtins)
	}
}

// at is the name of the function that holds pc, "" if there is none.
func at(all []vm.Function, pc uint64) string {
	for i := range all {
		if f := &all[i]; uint64(f.Start) <= pc && pc < uint64(f.End) {
			return f.Name
		}
	}
	return ""
}
