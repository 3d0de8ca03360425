package hang

import (
	"strings"
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// TestAside: an event loop waits for who is at the other end of a connection that it asked for, unless it would not go
// on for that.
func TestAside(t *testing.T) {
	const peer = 99
	for _, row := range []struct {
		name    string
		handles []profile.Handle
		follows bool
	}{
		{"keeps the loop", []profile.Handle{{Kind: "pipe", FD: 18, Keeps: true}}, true},
		{"does not", []profile.Handle{{Kind: "pipe", FD: 18}}, false},
		{"one of two does", []profile.Handle{{Kind: "pipe", FD: 18}, {Kind: "pipe", FD: 18, Keeps: true}}, true},
		{"another descriptor does not", []profile.Handle{{Kind: "pipe", FD: 17}}, true},
	} {
		c := blockedOn(profile.Wait{Sort: profile.SortSet, Kind: "events", Mode: profile.WaitAny,
			Set: []profile.WaitPart{{FD: 18, Sort: profile.SortSocketData, Made: true, Name: "unix /tmp/a",
				Wakers: []profile.Waker{{PID: peer}}}}})
		for i := range c.Moments {
			c.Moments[i].Dumps[0].Threads[0].Loop = &profile.Loop{Handles: row.handles}
		}
		if v := Judge(c); strings.Contains(v.Sentence, "(99)") != row.follows {
			t.Errorf("%s: %s", row.name, v.Sentence)
		}
	}
}

// TestLoopBeforePool: of a server the thread with the event loop is named, not one of the pool that waits for work.
func TestLoopBeforePool(t *testing.T) {
	c := blockedOn(profile.Wait{Sort: profile.SortSet, Kind: "events", Mode: profile.WaitAny, Listens: true})
	for i := range c.Moments {
		m := &c.Moments[i]
		d := m.Dumps[0]
		pool := d.Threads[0]
		pool.TID, pool.Wait = 8, &profile.Wait{Sort: profile.SortCondition, Kind: "a condition", Mode: profile.WaitAny}
		d.Threads[0].Loop, d.Threads[0].Stack.Frames = &profile.Loop{}, nil
		d.Threads = append(d.Threads, pool)
		m.Counters[8] = m.Counters[7]
	}
	if v := Judge(c); v.Culprit == nil || v.Culprit.TID != 7 {
		t.Errorf("got %+v: %s", v.Culprit, v.Sentence)
	}
}
