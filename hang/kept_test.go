package hang

import (
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// TestKept: of one moment that was kept only what cannot pass is a hang.
func TestKept(t *testing.T) {
	reads := profile.Wait{Sort: profile.SortSocketData, Mode: profile.WaitOutside, Peer: "10.0.0.7:5432"}
	lost := profile.Wait{Sort: profile.SortLock, Kind: "mutex", Mode: profile.WaitOne, Lost: 8}
	supposed := []profile.WaitCycle{{Kind: profile.CycleSupposed, Threads: []int{7},
		Text: "perhaps a deadlock: not proven"}}
	for _, row := range []struct {
		name   string
		wait   profile.Wait
		signal *profile.SignalInfo
		cycles []profile.WaitCycle
		kind   Kind
		want   string
	}{
		{"it waits for an answer", reads, nil, nil, Unknown, "job (7) reads from 10.0.0.7:5432, and gets no answer"},
		{"a lock that nobody can unlock", lost, nil, nil, Waiting,
			"job (7) waits for mutex held by thread 8, which has exited"},
		{"a deadlock", lost, nil, []profile.WaitCycle{{Kind: profile.CycleDeadlock, Threads: []int{7},
			Text: "deadlock: the thread waits for itself"}}, Deadlock,
			"job (7): deadlock: the thread waits for itself, in f"},
		{"perhaps a deadlock", reads, nil, supposed, Unknown, "job (7): perhaps a deadlock: not proven, in f"},
		{"a crash", reads, &profile.SignalInfo{Number: 11, Name: "SIGSEGV"}, nil, Unknown,
			"job (7) was ended by SIGSEGV, in f"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := twice(Counters{}, "S", []string{"f"}, []string{"f"})
			c.Kept, c.Moments = true, c.Moments[1:]
			thread := &c.Moments[0].Dumps[0].Threads[0]
			thread.Wait, thread.Signal = &row.wait, row.signal
			c.Moments[0].Waits = &profile.Waits{Cycles: row.cycles}
			if v := Judge(c); v.Kind != row.kind || v.Sentence != row.want {
				t.Errorf("got %s: %s\nwant %s: %s", v.Kind, v.Sentence, row.kind, row.want)
			}
		})
	}
}

// TestSupposed: a cycle of which not all is proven is a hang where nothing in it ran between the moments; where
// something else goes on, that is the verdict.
func TestSupposed(t *testing.T) {
	for _, row := range []struct {
		name string
		ran  uint64 // how often a thread of the cycle did
		out  uint64 // bytes of output
		kind Kind
	}{
		{"at rest", 0, 0, Waiting},
		{"it ran", 1, 0, Unknown},
		{"something goes on", 0, 100, Moving},
	} {
		c := twice(Counters{Voluntary: row.ran}, "S", []string{"f"}, []string{"f"})
		c.Activity.Output = row.out
		last := &c.Moments[1]
		last.Dumps[0].Threads[0].Wait = &profile.Wait{Sort: profile.SortLock, Mode: profile.WaitOne,
			Wakers: []profile.Waker{{PID: 7, TID: 7}}}
		last.Waits = &profile.Waits{Cycles: []profile.WaitCycle{{Kind: profile.CycleSupposed, Threads: []int{7},
			Text: "perhaps a deadlock: not proven"}}}
		v := Judge(c)
		if said := v.Sentence == "job (7): perhaps a deadlock: not proven, in f"; v.Kind != row.kind ||
			said != (row.kind != Moving) {
			t.Errorf("%s: got %s: %s; want %s", row.name, v.Kind, v.Sentence, row.kind)
		}
	}
}
