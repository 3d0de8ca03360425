package hang

import (
	"testing"

	"github.com/fpstack/fpstack/profile"
)

// TestKept: of one moment that was kept only what cannot pass is a hang.
func TestKept(t *testing.T) {
	reads := profile.Wait{Sort: profile.SortSocketData, Mode: profile.WaitOutside, Peer: "10.0.0.7:5432"}
	lost := profile.Wait{Sort: profile.SortLock, Kind: "mutex", Mode: profile.WaitOne, Lost: 8}
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
