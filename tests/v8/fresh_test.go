//go:build linux

package v8

import (
	"slices"
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/resolve"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/walked"
	"github.com/fpstack/fpstack/unwind"
)

// TestFreshClosures: of 300 closures that the collector moves all the time each frame has its own name. Where they were
// not copied in the stop a frame has that name too, or says that it is not sure, or has none and says why.
func TestFreshClosures(t *testing.T) {
	for _, version := range versions(t) {
		major := majorOf(version)
		if !*full && !slices.Contains(quickMajors, major) {
			continue
		}
		flags := [][]string{{"--no-opt", "--no-sparkplug"}, {"--no-opt", "--always-sparkplug"}, nil}
		if major >= 22 {
			flags[0], flags[1] = append(flags[0], "--no-maglev"), append(flags[1], "--no-maglev")
		}
		for i, mode := range []string{"interpreter", "sparkplug", "default"} {
			t.Run(version+"/"+mode, func(t *testing.T) {
				x := start(t, version, append(flags[i], "--max-semi-space-size=1"), "fresh.js")
				x.checkFresh(t, "copied", x.Runtimes.Copiers(), 7)
				x.checkFresh(t, "not copied", nil, 0)
				x.checkFresh(t, "copied again", x.Runtimes.Copiers(), 7)
			})
		}
	}
}

// checkFresh takes samples; of ten that have the chain so many at least are to be whole and sure.
func (x *target) checkFresh(t *testing.T, how string, copiers []snapshot.Copier, least int) {
	t.Helper()
	deep, whole, cut := 0, 0, 0
	for i := range *samples {
		walked.Pause(i)
		s := x.StopWith(t, copiers)
		at := slices.IndexFunc(s.Threads, func(th snapshot.Thread) bool { return th.TID == s.Process.PID })
		stack := x.Walk(s, at)
		names, marked := x.fresh(t, how, &stack)
		if len(names) > 2 {
			deep++
		}
		if len(names) > 2 && !marked && slices.Equal(names, x.Chain[len(x.Chain)-len(names):]) {
			whole++
		}
		if marked {
			cut++
		}
	}
	t.Logf("%s: %d of %d stacks are whole, %d have marked frames", how, whole, deep, cut)
	if deep == 0 || whole*10 < deep*least {
		t.Errorf("%s: %d of %d stacks are whole, want %d of 10", how, whole, deep, least)
	}
}

// fresh are the names of the frames of a stack that are in the chain. Those that are said to be sure are to be where
// they are in it: frames from the outermost on are those of the chain.
func (x *target) fresh(t *testing.T, how string, stack *unwind.Stack) (names []string, marked bool) {
	t.Helper()
	at := len(x.Chain)
	for i := range slices.Backward(stack.Frames) {
		f := &stack.Frames[i]
		logical := resolve.OfSite(f)
		if f.Unsure || strings.Contains(f.Note, "not named") {
			marked = true
		}
		for k := range slices.Backward(logical) {
			l := &logical[k]
			if l.Kind != profile.JavaScript || l.Stub || !slices.Contains(x.Chain, l.Func) {
				if strings.HasPrefix(l.File, "/") && !f.Unsure && at < len(x.Chain)-1 {
					t.Errorf("%s: frame %d is %q %s:%d, which nobody calls there", how, i, l.Func, l.File, l.Line)
				}
				continue
			}
			names = append(names, l.Func)
			if at--; !marked && (at < 0 || l.Func != x.Chain[at]) {
				t.Errorf("%s: frame %d is %q, the callers before it are %q", how, i, l.Func,
					names[max(0, len(names)-4):len(names)-1])
				return nil, true
			}
		}
		if len(logical) == 0 && at < len(x.Chain) && at > 1 && f.Note == "" && f.Module == nil {
			t.Errorf("%s: frame %d at %#x has no name, and no reason", how, i, uint64(f.PC))
		}
	}
	slices.Reverse(names)
	return names, marked
}
