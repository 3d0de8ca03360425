package hang

import (
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// TestOwnersInServer: a server whose requests wait for the lock of one that nobody wakes hangs. Where they wait for the
// result of such a thread that is said: somebody may ask it for the rest.
func TestOwnersInServer(t *testing.T) {
	nobody := profile.Wait{Sort: profile.SortCondition, Mode: profile.WaitAny, Wakers: []profile.Waker{{PID: 7}},
		Text: "waits for an event"}
	on := func(sort profile.WaitSort) profile.Wait {
		return profile.Wait{Sort: sort, Mode: profile.WaitOne, Wakers: []profile.Waker{{PID: 7, TID: 8}},
			Text: "waits for thread 8"}
	}
	accepts := profile.Wait{Sort: profile.SortSocketData, Mode: profile.WaitOutside, Listens: true}
	for _, row := range []struct {
		name  string
		first profile.Wait // of the request
		last  profile.Wait // of whom it waits for
		kind  Kind
		want  string
	}{
		{"a lock", on(profile.SortLock), nobody, Waiting,
			`thread 8 "worker" has a lock for which 1 thread waits, and waits for an event, in refill`},
		{"a lock of the one that accepts", on(profile.SortLock), accepts, Unknown, "waits for connections"},
		{"a result", on(profile.SortCondition), nobody, Unknown, "waits for connections; " +
			`thread 8 "worker", for whose result others wait, waits for an event, in refill`},
		{"the end of a thread", on(profile.SortThread), nobody, Unknown, "waits for connections"},
		{"nobody", nobody, nobody, Unknown, "waits for connections"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := twice(Counters{}, "S", []string{"checkout"}, []string{"checkout"})
			for i := range c.Moments {
				m := &c.Moments[i]
				d := m.Dumps[0]
				d.Threads[0].Wait = &row.first
				for tid, other := range map[int]*profile.Wait{8: &row.last, 9: &accepts} {
					th := profile.Thread{TID: tid, Name: "worker", State: "S", Wait: other}
					th.Stack.Frames = []profile.Frame{{Func: "refill", Module: -1}}
					d.Threads = append(d.Threads, th)
					m.Counters[tid] = m.Counters[7]
				}
			}
			if v := Judge(c); v.Kind != row.kind || !strings.HasSuffix(v.Sentence, row.want) {
				t.Errorf("got %s: %s; want %s: %s", v.Kind, v.Sentence, row.kind, row.want)
			}
		})
	}
}

// TestOwnerFirst: of two threads that wait for work which no thread has begun, the one whose result others wait for is
// named: it keeps them, and has the pool.
func TestOwnerFirst(t *testing.T) {
	unbegun := profile.Wait{Sort: profile.SortUnbegun, Mode: profile.WaitAny, Wakers: []profile.Waker{{PID: 7}},
		Text: "waits for a result that no thread has begun to compute"}
	result := profile.Wait{Sort: profile.SortCondition, Mode: profile.WaitOne,
		Wakers: []profile.Waker{{PID: 7, TID: 9}}}
	c := twice(Counters{}, "S", []string{"checkout"}, []string{"checkout"})
	for i := range c.Moments {
		m := &c.Moments[i]
		d := m.Dumps[0]
		d.Threads[0].Wait = &result
		for _, tid := range []int{8, 9} {
			th := profile.Thread{TID: tid, Name: "pool", State: "S", Wait: &unbegun}
			th.Stack.Frames = []profile.Frame{{Func: "refill", Module: -1}}
			d.Threads = append(d.Threads, th)
			m.Counters[tid] = m.Counters[7]
		}
	}
	if v := Judge(c); v.Culprit == nil || v.Culprit.TID != 9 {
		t.Errorf("got %+v: %s; want thread 9", v.Culprit, v.Sentence)
	}
}
