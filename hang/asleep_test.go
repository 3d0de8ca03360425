package hang

import (
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// TestEmptyPool: of a thread that waits for a connection of an empty pool and one that sleeps, the one that waits is
// named if the other sleeps in the function that it began with; who sleeps deeper may have the connection. It is the
// same in a server, where another waits for connections: no request gives back what others have.
func TestEmptyPool(t *testing.T) {
	sleeps := profile.Wait{Sort: profile.SortTime, Mode: profile.WaitTime, Left: 50 * time.Second}
	accepts := profile.Wait{Sort: profile.SortSocketData, Mode: profile.WaitOutside, Listens: true}
	for _, row := range []struct {
		name  string
		other profile.Wait
		stack []string // of the other
		kind  Kind
		want  string
	}{
		{"beside main that sleeps", sleeps, []string{"main"}, Waiting, "waits for a connection, in checkout"},
		{"beside an acceptor", accepts, []string{"accept", "main"}, Waiting, "waits for a connection, in checkout"},
		{"beside a request that sleeps", sleeps, []string{"request", "main"}, Unknown,
			"is asleep for 50.0 s more, in request"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := twice(Counters{}, "S", []string{"checkout", "request"}, []string{"checkout", "request"})
			for i := range c.Moments {
				m := &c.Moments[i]
				d := m.Dumps[0]
				d.Threads[0].Wait = &profile.Wait{Sort: profile.SortPool, Mode: profile.WaitAny,
					Text: "waits for a connection", Wakers: []profile.Waker{{PID: 7}}}
				other := profile.Thread{TID: 8, Name: "other", State: "S", Wait: &row.other}
				for _, f := range row.stack {
					other.Stack.Frames = append(other.Stack.Frames, profile.Frame{Func: f, Module: -1})
				}
				d.Threads = append(d.Threads, other)
				m.Counters[8] = m.Counters[7]
			}
			if v := Judge(c); v.Kind != row.kind || !strings.Contains(v.Sentence, row.want) {
				t.Errorf("got %s: %s; want %s: %s", v.Kind, v.Sentence, row.kind, row.want)
			}
		})
	}
}

// TestStarvedPool: that no thread has begun what a thread waits for is said, and not which function waits for it; in a
// server, too.
func TestStarvedPool(t *testing.T) {
	c := twice(Counters{}, "S", []string{"Future.result", "checkout"}, []string{"Future.result", "checkout"})
	for i := range c.Moments {
		th := &c.Moments[i].Dumps[0].Threads[0]
		th.Wait = &profile.Wait{Sort: profile.SortUnbegun, Mode: profile.WaitAny, Wakers: []profile.Waker{{PID: 7}},
			Text: "waits for the result of a Future, which no thread has begun to compute"}
		for k, file := range []string{"/usr/lib/python3.13/concurrent/futures/_base.py", "/srv/shop.py"} {
			th.Stack.Frames[k].Kind, th.Stack.Frames[k].File = profile.Python, file
		}
		c.Moments[i].Dumps[0].Threads = append(c.Moments[i].Dumps[0].Threads, profile.Thread{TID: 8, State: "S",
			Wait: &profile.Wait{Sort: profile.SortSocketData, Mode: profile.WaitOutside, Listens: true}})
		c.Moments[i].Counters[8] = c.Moments[i].Counters[7]
	}
	const want = "waits for the result of a Future, which no thread has begun to compute, in checkout"
	if v := Judge(c); v.Kind != Waiting || !strings.Contains(v.Sentence, want) {
		t.Errorf("got %s: %s; want %s", v.Kind, v.Sentence, want)
	}
}
