package hang

import (
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// TestSince: a sentence says how long it has lasted at least, where the same thread slept all the time.
func TestSince(t *testing.T) {
	wait := profile.Wait{Sort: profile.SortSocketData, Mode: profile.WaitOutside, Peer: "10.0.0.7:5432"}
	const said = "job (7) reads from 10.0.0.7:5432, and gets no answer"
	for _, row := range []struct {
		name  string
		slept time.Duration
		start uint64
		grew  Counters
		want  string
	}{
		{"26 minutes", 26*time.Minute + 30*time.Second, 5, Counters{Start: 5}, said + ", for at least 26 min"},
		{"four hours", 4*time.Hour + time.Minute, 5, Counters{Start: 5}, said + ", for at least 4 h"},
		{"three days", 80 * time.Hour, 5, Counters{Start: 5}, said + ", for at least 3 days"},
		{"less than a minute", 30 * time.Second, 5, Counters{Start: 5}, said},
		{"not known", 0, 5, Counters{Start: 5}, said},
		{"another thread has the id now", 26 * time.Minute, 5, Counters{Start: 6}, said},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := twice(row.grew, "S", []string{"f"}, []string{"f"})
			first := c.Moments[0].Counters[7]
			first.Before.Slept, first.Before.Start, first.After.Start = row.slept, row.start, row.start
			c.Moments[0].Counters[7] = first
			for i := range c.Moments {
				w := wait
				c.Moments[i].Dumps[0].Threads[0].Wait = &w
			}
			if v := Judge(c); v.Sentence != row.want {
				t.Errorf("got %s\nwant %s", v.Sentence, row.want)
			}
		})
	}
}

// TestIDsUsedAgain: a thread that has the id of one before it is new: counters and stacks of that one are not its own.
func TestIDsUsedAgain(t *testing.T) {
	c := twice(Counters{Start: 9, CPU: 0, Voluntary: 3}, "S", []string{"f"}, []string{"g"})
	for i := range c.Moments {
		span := c.Moments[i].Counters[7]
		if i == 0 {
			span.Before.CPU, span.After.CPU = time.Hour, time.Hour // of the one before
		}
		c.Moments[i].Counters[7] = span
	}
	all := Classify(c)
	if len(all) != 1 || all[0].Class != New || all[0].CPU != 0 {
		t.Errorf("got %+v, want one that is new", all)
	}
	if !c.samples().alike(threadID{7, 7}) {
		t.Error("its stack is compared with that of the thread before it")
	}
	same := twice(Counters{}, "S", []string{"f"}, []string{"g"})
	if same.samples().alike(threadID{7, 7}) {
		t.Error("stacks of one thread are not compared")
	}
}
