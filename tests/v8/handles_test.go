//go:build linux

package v8

import (
	"encoding/json"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// waited is a handle as the script knows it.
type waited struct {
	Kind, Object, Event, Func, File string
	Line                            int
	Keeps, Async                    bool
}

// TestHandles: a thread that waits in its event loop shows each handle and timer that the script knows, with the
// function that is called and its line, no other timer of the script, and as many of each kind as Node.js itself says.
func TestHandles(t *testing.T) {
	for _, version := range versions(t) {
		if !*full && !slices.Contains(quickMajors, majorOf(version)) {
			continue
		}
		t.Run(version, func(t *testing.T) { checkHandles(t, version) })
		t.Run(version+"/worker", func(t *testing.T) { checkHandles(t, version, "worker") })
	}
}

func checkHandles(t *testing.T, version string, args ...string) {
	x := start(t, version, nil, "handles.js", args...)
	var want []waited
	if err := json.Unmarshal(x.Handles, &want); err != nil || len(want) < 4 {
		t.Fatalf("the script knows %s: %v", x.Handles, err)
	}
	time.Sleep(50 * time.Millisecond) // it has written, and goes back to its loop
	loop := x.idleLoop(t, want[0].Func)
	if loop == nil {
		t.Fatal("no thread waits in an event loop with the script's timers")
	}
	if loop.Problem != "" {
		t.Errorf("problem %q", loop.Problem)
	}
	for _, w := range want {
		if n := countHandles(loop, w); n != 1 {
			t.Errorf("%d handles are %+v, want 1", n, w)
			t.Logf("%+v", loop.Handles)
		}
	}
	mine := 0
	for i := range loop.Handles {
		h := &loop.Handles[i]
		if h.Kind == "timer" && len(h.Calls) > 0 && h.Calls[0].File == want[0].File {
			mine++
			if due := h.In; !h.HasIn || due < 3e12 || due > 6e12 {
				t.Errorf("timer %s ends in %v, %t", h.Calls[0].Func, due, h.HasIn)
			}
		}
	}
	if mine != 4 {
		t.Errorf("%d timers of the script, want 4", mine)
	}
	x.compareResources(t, loop)
}

// idleLoop is the event loop that has a timer which calls that function.
func (x *target) idleLoop(t *testing.T, timer string) *profile.Loop {
	t.Helper()
	loops := x.Runtimes.Loops()
	for range 10 {
		s := x.Stop(t)
		for i := range s.Threads {
			l := loops.Of(s, &s.Threads[i])
			if l != nil && slices.ContainsFunc(l.Handles, func(h profile.Handle) bool {
				return len(h.Calls) > 0 && h.Calls[0].Func == timer
			}) {
				return l
			}
		}
		time.Sleep(20 * time.Millisecond)
	}
	return nil
}

func countHandles(l *profile.Loop, w waited) (n int) {
	for i := range l.Handles {
		h := &l.Handles[i]
		if h.Kind != w.Kind || h.Object != w.Object || h.Keeps != w.Keeps {
			continue
		}
		for _, c := range h.Calls {
			if c == (profile.Call{Event: w.Event, Func: w.Func, File: w.File, Line: w.Line, Async: w.Async}) {
				n++
			}
		}
	}
	return n
}

// resourceKinds are the names of getActiveResourcesInfo, and of which kind the handles are.
var resourceKinds = map[string]string{"Timeout": "timer", "TCPServerWrap": "tcp", "TCPSocketWrap": "tcp",
	"PipeWrap": "pipe", "ProcessWrap": "process", "FSEventWrap": "fs_event", "UDPWrap": "udp", "TTYWrap": "tty"}

// compareResources compares how many handles of each kind keep the loop with what Node.js says, where it does.
func (x *target) compareResources(t *testing.T, l *profile.Loop) {
	want, got := map[string]int{}, map[string]int{}
	for _, r := range x.Resources {
		want[resourceKinds[r]]++
	}
	for i := range l.Handles {
		if h := &l.Handles[i]; h.Keeps && !h.Internal {
			got[h.Kind]++
		}
	}
	for kind, n := range want {
		if got[kind] != n {
			t.Errorf("%d handles of kind %q, want %d of %s", got[kind], kind, n, strings.Join(x.Resources, " "))
		}
	}
}
