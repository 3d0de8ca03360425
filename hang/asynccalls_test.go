package hang

import (
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// waitingNode is a case of a program whose one thread waits in an event loop, with async functions that wait: for a
// timer, for others, and two that nobody lets go on.
func waitingNode(listens bool) *Case {
	c := blockedOn(profile.Wait{Sort: profile.SortSet, Mode: profile.WaitOutside, Listens: listens,
		Text: "waits for events"})
	at := func(function, file string, line int) profile.FiberStack {
		return profile.FiberStack{Stack: profile.Stack{Complete: true, Frames: []profile.Frame{
			{Func: "inner", File: "node:internal/x", Line: 1, Kind: profile.JavaScript},
			{Func: function, File: file, Line: line, Kind: profile.JavaScript}}}}
	}
	for i := range c.Moments {
		d := c.Moments[i].Dumps[0]
		d.Threads[0].Loop = &profile.Loop{}
		d.Threads[0].Stack.Frames = nil
		d.FiberStacks = []profile.FiberStack{at("ticks", "/srv/a.js", 1), at("loads", "/srv/a.js", 2),
			at("handle", "/srv/a.js", 3), at("all", "/srv/a.js", 4)}
		d.Fibers = []profile.Fiber{
			{Kind: profile.AsyncCall, ID: 1, Stack: 0, Wait: profile.FiberTimer, State: "awaits a timer"},
			{Kind: profile.AsyncCall, ID: 2, Stack: 1, Wait: profile.FiberFuture, State: "awaits a promise"},
			{Kind: profile.AsyncCall, ID: 3, Stack: 2, Wait: profile.FiberNobody, State: "awaits nothing",
				AwaitedBy: []uint64{5}},
			{Kind: profile.AsyncCall, ID: 4, Stack: 2, Wait: profile.FiberNobody, State: "awaits nothing"},
			{Kind: profile.AsyncCall, ID: 5, Stack: 3, Wait: profile.FiberFuture, State: "awaits others"},
			{Kind: profile.AsyncCall, ID: 6, Stack: 2, Wait: profile.FiberNobody, State: "of node", System: true},
		}
	}
	return c
}

// TestAsyncCalls: what async functions of an event loop wait for is in the sentence, with the place of the first that
// nobody lets go on; a server does not hang for it.
func TestAsyncCalls(t *testing.T) {
	for _, listens := range []bool{false, true} {
		v := Judge(waitingNode(listens))
		const want = "2 async calls in handle (a.js:3) [awaits nothing]"
		if !strings.Contains(v.Sentence, want) {
			t.Errorf("listens %t: %q, want %q in it", listens, v.Sentence, want)
		}
		if (v.Kind == Waiting) == listens {
			t.Errorf("listens %t: %v", listens, v.Kind)
		}
		if v.Culprit == nil || v.Culprit.Frame == nil || v.Culprit.Frame.Func != "handle" {
			t.Errorf("listens %t: culprit %+v", listens, v.Culprit)
		}
	}
}

// TestAsyncCallsElsewhere: where somebody else is to blame, what nobody lets go on is said below.
func TestAsyncCallsElsewhere(t *testing.T) {
	c := waitingNode(false)
	for i := range c.Moments {
		d := c.Moments[i].Dumps[0]
		d.Threads[0].Loop = nil // it waits for another machine
		d.Threads[0].Wait = &profile.Wait{Sort: profile.SortSocketData, Mode: profile.WaitOutside, Peer: "10.0.0.7:5432"}
	}
	v := Judge(c)
	if all := strings.Join(v.Because, "\n"); !strings.Contains(all, "2 async calls in handle (a.js:3)") {
		t.Errorf("%q, because %q", v.Sentence, all)
	}
}
