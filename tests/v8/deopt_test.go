//go:build linux

package v8

import (
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tests/walked"
)

// TestDeoptimizer: a stack goes through the deoptimizer, while it computes the frames that take the place of another
// too, and has the functions of that. Return addresses to code that was given up have the functions of the call.
func TestDeoptimizer(t *testing.T) {
	x := start(t, newest(t), nil, "deopt.js")
	counts, through := map[verdict]int{}, 0
	n := 0
	for i := 0; i < 400 || through == 0 && i < 4000; i++ {
		n++
		walked.Pause(i)
		s := &x.Stacks(x.Stop(t))[0]
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
