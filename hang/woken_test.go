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
