//go:build linux

package v8

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tests/harness"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/vm"
)

// waitingCall is functions that wait for one another as a script knows them.
type waitingCall struct {
	Count  int
	Frames []site
	Wait   string
	By     string // the function that waits for the last of them, besides others
}

// churn are functions of the script that begin and end all the time.
var churn = []string{"churned", "churner"}

// TestSuspended: the async functions that a script has left waiting, so many of each, at their lines, with what lets
// them go on; nothing else.
func TestSuspended(t *testing.T) {
	for _, version := range versions(t) {
		if majorOf(version) < 18 || !*full && !slices.Contains(quickMajors, majorOf(version)) {
			continue
		}
		for _, m := range modes(majorOf(version)) {
			if *full || slices.Contains(quickModes, m.name) {
				flags := append(slices.Clone(m.flags), "--expose-gc")
				t.Run(version+"/"+m.name, func(t *testing.T) {
					x := start(t, version, flags, "suspended.js")
					if len(x.Suspended) < 10 {
						t.Fatalf("the script says %+v", x.Suspended)
					}
					calls, err := x.settledCalls(t)
					if err != nil {
						t.Error(err)
					}
					x.compareCalls(t, calls, true, true)
				})
			}
		}
	}
}

// TestSuspendedChurn: beside functions that begin and end, and collections, the list has the same functions, or says
// that it is not whole; and no chain that the script cannot make.
func TestSuspendedChurn(t *testing.T) {
	scans := harness.Times(25)
	if *full {
		scans = 100
	}
	for _, version := range versions(t) {
		if majorOf(version) < 18 || !*full && !slices.Contains(quickMajors, majorOf(version)) {
			continue
		}
		t.Run(version, func(t *testing.T) {
			x := start(t, version, []string{"--expose-gc"}, "suspended.js", "churn")
			whole, longest := 0, time.Duration(0)
			for range scans {
				began := time.Now()
				calls, err := x.calls(t)
				longest = max(longest, time.Since(began))
				if err == nil {
					whole++
				}
				x.compareCalls(t, calls, err == nil, false)
			}
			t.Logf("%d of %d scans whole, longest %v", whole, scans, longest)
		})
	}
}

// call is one that was listed.
type call struct {
	snapshot.Fiber
	frames []profile.Frame
}

// settledCalls are those of a scan in which nothing moved.
func (x *target) settledCalls(t *testing.T) (calls []call, err error) {
	for range 10 {
		if calls, err = x.calls(t); err == nil {
			break
		}
	}
	return calls, err
}

func (x *target) calls(t *testing.T) (calls []call, err error) {
	t.Helper()
	s := x.Stop(t)
	x.Runtimes.Scan(x.Set) // as a dump does: the heap may have grown since
	for _, l := range x.Runtimes.FiberListers() {
		if l.FiberKind() != profile.AsyncCall {
			continue
		}
		if _, err := l.OpenFibers(); err != nil {
			t.Fatal(err)
		}
		var fibers []snapshot.Fiber
		fibers, err = l.Fibers(s)
		for _, f := range fibers {
			var stack unwind.Stack
			l.(vm.FiberStacker).FiberStack(f.ID, &stack)
			c := call{Fiber: f}
			for i := range stack.Frames {
				namer := stack.Frames[i].Runtime.(interface {
					Frames(unwind.Site) []profile.Frame
				})
				c.frames = append(c.frames, namer.Frames(stack.Frames[i].Site)...)
			}
			calls = append(calls, c)
		}
	}
	return calls, err
}

func (c *call) key() string {
	var b strings.Builder
	for i := range c.frames {
		fmt.Fprintf(&b, "%s:%d ", c.frames[i].Func, c.frames[i].Line)
	}
	return b.String()
}

func (w *waitingCall) key() string {
	var b strings.Builder
	for _, f := range w.Frames {
		fmt.Fprintf(&b, "%s:%d ", f.function, f.line)
	}
	return b.String()
}

// compareCalls compares calls with what the script knows: all of it if whole, else parts of it. What they wait for is
// as the script knows it if still; where memory is used again and again it may be less sure, and never that nobody
// settles it where somebody does.
func (x *target) compareCalls(t *testing.T, calls []call, whole, still bool) {
	t.Helper()
	byID := map[uint64]*call{}
	for i := range calls {
		byID[calls[i].ID] = &calls[i]
	}
	got := map[string]int{}
	for i := range calls {
		c := &calls[i]
		if len(c.frames) > 0 && slices.Contains(churn, c.frames[0].Func) {
			x.checkChurn(t, c, byID)
			continue
		}
		by := ""
		if len(c.AwaitedBy) > 0 {
			by = byID[c.AwaitedBy[0]].frames[0].Func
		}
		k := slices.IndexFunc(x.Suspended, func(w waitingCall) bool { return w.key() == c.key() && w.By == by })
		switch {
		case k >= 0:
			w := &x.Suspended[k]
			if got[w.key()+w.By]++; string(c.Wait) != w.Wait && (still || c.Wait == snapshot.FiberNobody) {
				t.Errorf("%s waits for %q (%s), want %q", c.key(), c.Wait, c.State, w.Wait)
			}
		case c.System: // of Node.js itself
		case whole || !x.isPart(c):
			t.Errorf("%s[%s] by %q is none of the script", c.key(), c.State, by)
		}
	}
	for i := range x.Suspended {
		if w := &x.Suspended[i]; whole && got[w.key()+w.By] != w.Count || got[w.key()+w.By] > w.Count {
			t.Errorf("%d × %s, want %d", got[w.key()+w.By], w.key(), w.Count)
		}
	}
}

// isPart reports whether c is a part of a chain of the script.
func (x *target) isPart(c *call) bool {
	return slices.ContainsFunc(x.Suspended, func(w waitingCall) bool {
		return strings.Contains(" "+w.key(), " "+c.key())
	})
}

// checkChurn checks a chain of those that begin and end.
func (x *target) checkChurn(t *testing.T, c *call, byID map[uint64]*call) {
	t.Helper()
	for i := range c.frames {
		if c.frames[i].Func != churn[min(i, 1)] && !(i == 0 && c.frames[0].Func == churn[1]) {
			t.Errorf("%s: a chain that the script cannot make", c.key())
		}
	}
	for _, id := range c.AwaitedBy {
		if by := byID[id]; by.frames[0].Func != churn[1] {
			t.Errorf("%s is awaited by %s", c.key(), by.key())
		}
	}
}
