package hang

import (
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// TestWoken: who tries a lock again and again is met asleep, or as it wakes: the verdict is the same. Who computes is
// not taken for one that sleeps.
func TestWoken(t *testing.T) {
	for _, row := range []struct {
		name string
		cpu  time.Duration
		slot int // of another thread
		kind Kind
	}{
		{"as it wakes", 2 * time.Millisecond, 0, Waiting},
		{"it computes", wall / 2, 0, Moving},
		{"another thread slept", 2 * time.Millisecond, 5, Unknown},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := twice(Counters{CPU: row.cpu, Voluntary: 13}, "R", []string{"sleeps"}, []string{"sleeps", "main"})
			c.Processes = []Process{{PID: 7, Name: "job", LockedFiles: []LockedFile{{Path: "/lock", Holder: 9}}}}
			c.Outside = []Process{{PID: 9, Name: "holder"}}
			before := c.Moments[0].Counters[7]
			before.Before.Start += uint64(row.slot)
			before.After.Start += uint64(row.slot)
			c.Moments[0].Counters[7] = before
			first := &c.Moments[0].Dumps[0].Threads[0]
			first.State, first.Wait = "S", &profile.Wait{Sort: profile.SortTime, Mode: profile.WaitTime, Left: 3e8}
			v := Judge(c)
			const want = "job (7) tries again and again, with lock /lock held by holder (9), parent gone, " +
				"outside this tree"
			if v.Kind != row.kind || row.kind == Waiting && v.Sentence != want {
				t.Errorf("got %s: %s; want %s: %s", v.Kind, v.Sentence, row.kind, want)
			}
		})
	}
}

// TestReadyIsNoRest: beside a thread that waits for nobody known, one that is ready to run shows that its process goes
// on, in the tree and outside of it, however little CPU it got; so does one that woke and of which it is not known what
// it waits for: it was met on its way.
func TestReadyIsNoRest(t *testing.T) {
	idle := &profile.Wait{Sort: profile.SortCondition, Mode: profile.WaitAny, Text: "waits for condition variable",
		Wakers: []profile.Waker{{PID: 7}}}
	for _, row := range []struct {
		name  string
		state string // of the other thread
		waits bool
		kind  Kind
	}{
		{"ready", "R", false, Unknown},
		{"asleep", "S", true, Waiting},
		{"on its way", "S", false, Unknown},
	} {
		c := twice(Counters{}, "S", []string{"f", "main"}, []string{"f", "main"})
		for i := range c.Moments {
			m := &c.Moments[i]
			m.Dumps[0].Threads[0].Wait = idle
			other := profile.Thread{TID: 8, Name: "job", State: row.state}
			if row.waits {
				other.Wait = idle
			}
			m.Dumps[0].Threads = append(m.Dumps[0].Threads, other)
			did := Counters{Time: m.Time, CPU: time.Duration(i) * 5 * time.Millisecond, Voluntary: uint64(i)}
			m.Counters[8] = Span{Before: did, After: did}
		}
		outside := blockedOn(profile.Wait{Sort: profile.SortSocketData, Kind: "data from a socket", Made: true,
			Mode: profile.WaitAny, Wakers: []profile.Waker{{PID: 99}}})
		for i := range outside.Moments {
			m := &outside.Moments[i]
			m.Waits.Threads = nil
			stacks := &profile.Dump{Process: profile.Process{PID: 99}} // taken later
			outside.Beside = []*profile.Dump{stacks}
			for k, state := range []string{row.state, "S"} {
				beside := profile.WaitingThread{PID: 99, Thread: profile.Thread{TID: 99 + k, State: state}}
				if row.waits || k == 1 {
					beside.Wait = &profile.Wait{Sort: profile.SortCondition, Mode: profile.WaitAny,
						Text: "waits for condition variable", Wakers: []profile.Waker{{PID: 99}}}
				}
				m.Waits.Threads = append(m.Waits.Threads, beside)
				did := Counters{Time: m.Time, Voluntary: uint64(i * (1 - k))}
				m.Counters[99+k] = Span{Before: did, After: did}
				beside.Wait, beside.State = nil, "S"
				stacks.Threads = append(stacks.Threads, beside.Thread)
			}
		}
		for where, c := range map[string]*Case{"in the tree": c, "outside of it": outside} {
			if v := Judge(c); v.Kind != row.kind {
				t.Errorf("%s, %s: got %s: %s; want %s", row.name, where, v.Kind, v.Sentence, row.kind)
			}
		}
	}
}

// TestWakesElsewhere: who wakes now and then waits for what it waits for, though it is met in another place each time;
// who computes waits for nobody.
func TestWakesElsewhere(t *testing.T) {
	for _, row := range []struct {
		name string
		cpu  time.Duration
		kind Kind
		want string
	}{
		{"wakes", 9 * time.Millisecond, Waiting,
			"sh (6) waits for job (7), which reads from 10.0.0.7:5432, and gets no answer"},
		{"computes", wall / 2, Moving, "not hung: sh (6) uses 50 % of a CPU in poll"},
	} {
		c := blockedOn(profile.Wait{Sort: profile.SortSocketData, Kind: "data from a socket", Mode: profile.WaitOutside,
			Peer: "10.0.0.7:5432"})
		for i := range c.Moments {
			m := &c.Moments[i]
			did := Counters{Time: m.Time, CPU: row.cpu * time.Duration(i), Voluntary: uint64(20 * i)}
			m.Counters[6] = Span{Before: did, After: did}
			m.Dumps[1].Threads[0].Stack.Frames = []profile.Frame{{Func: []string{"poll", "tick"}[i]}}
		}
		if v := Judge(c); v.Kind != row.kind || v.Sentence != row.want {
			t.Errorf("%s: got %s: %s; want %s: %s", row.name, v.Kind, v.Sentence, row.kind, row.want)
		}
	}
}
