//go:build linux && amd64

package v8

import (
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// TestDeoptimizer: a stack goes through the deoptimizer, while it computes the frames that take the place of another
// too, and has the functions of that. Return addresses to code that was given up have the functions of the call.
func TestDeoptimizer(t *testing.T) {
	version := newest(t)
	for _, m := range modes(majorOf(version)) {
		if m.name == "default" || m.name == "maglev" {
			t.Run(m.name, func(t *testing.T) { checkDeoptimizer(t, start(t, version, m.flags, "deopt.js")) })
		}
	}
}

func checkDeoptimizer(t *testing.T, x *target) {
	counts, through := map[verdict]int{}, 0
	const n = 400
	for i := range n {
		pause(i)
		s := &x.stacks(x.stop(t))[0]
		v, why := x.check(s)
		counts[v]++
		if v == wrong {
			x.describe(t, s)
			t.Log(why)
		}
		inside := func(f profile.Frame) bool { return strings.HasPrefix(f.Func, "DeoptimizationEntry_") }
		if (v == right || v == vague) && slices.ContainsFunc(s.Frames, inside) {
			through++
		}
	}
	t.Logf("%d right, %d of them through the deoptimizer, %d in it, %d cut, %d not named, %d wrong", counts[right],
		through, counts[deoptimized], counts[cut], counts[unnamed], counts[wrong])
	if counts[wrong] > 0 || counts[cut]+counts[deoptimized]+counts[unnamed] > n/50 || through == 0 {
		t.Error("stacks are not whole")
	}
}
