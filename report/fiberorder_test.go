package report

import (
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// TestStuckFibersComeFirst: those that wait for a lock or for nobody come before the others, which stay in order.
func TestStuckFibersComeFirst(t *testing.T) {
	d := &profile.Dump{Process: profile.Process{PID: 7, Comm: "server"}}
	for i, wait := range []profile.FiberWait{"io", profile.FiberReceive, profile.FiberLock, "io", profile.FiberNobody} {
		d.FiberStacks = append(d.FiberStacks, profile.FiberStack{Stack: profile.Stack{
			Frames: []profile.Frame{{Func: "main.f" + string(rune('0'+i))}}, Complete: true}})
		d.Fibers = append(d.Fibers, profile.Fiber{ID: uint64(i + 1), Kind: "goroutine", State: string(wait), Wait: wait,
			Stack: i})
	}
	for group, want := range map[bool]string{true: "f2 f4 f0 f1 f3", false: "f0 f1 f2 f3 f4"} {
		var out strings.Builder
		if err := Text(&out, d, Options{Group: group}); err != nil {
			t.Fatal(err)
		}
		var got []string
		for _, word := range strings.Fields(out.String()) {
			if f, ok := strings.CutPrefix(word, "main."); ok {
				got = append(got, f)
			}
		}
		if strings.Join(got, " ") != want {
			t.Errorf("group %t: %v, want %s:\n%s", group, got, want, out.String())
		}
	}
}
