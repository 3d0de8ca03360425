package hang

import (
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// TestEndedMeanwhile: who ends or becomes another program while it is looked at does not hang.
func TestEndedMeanwhile(t *testing.T) {
	ended := []Ended{{PID: 7, Name: "sh"}}
	asleep := profile.Wait{Sort: profile.SortTime, Mode: profile.WaitTime, Left: time.Hour, Text: "sleeps"}
	for _, row := range []struct {
		name    string
		trigger TriggerKind
		seen    bool // it was sampled before
		change  Activity
		roots   []int
		state   string
		kind    Kind
		want    string
	}{
		{"before it was sampled", Asked, false, Activity{Ended: ended}, []int{7}, "S", Moving,
			"not hung: sh (7) ended while it was looked at"},
		{"after it was sampled", Asked, true, Activity{Ended: ended}, []int{7}, "S", Moving,
			"not hung: sh (7) ended while it was looked at"},
		{"ended by who wants us to end", Signalled, true, Activity{Ended: ended}, []int{7}, "S", Waiting,
			"sh (7) is asleep for 3600 s more, in f"},
		{"one of two", Asked, true, Activity{Ended: []Ended{{PID: 8, Name: "sh"}}}, []int{7, 8}, "S", Waiting,
			"sh (7) is asleep for 3600 s more, in f"},
		{"both of two", Asked, false, Activity{Ended: []Ended{{PID: 7}, {PID: 8}}}, []int{7, 8}, "S", Moving,
			"not hung: 2 processes ended while they were looked at"},
		{"another program", Asked, true, Activity{Executed: []Executed{{PID: 7, Name: "sh", Now: "a\x1b"}}}, []int{7},
			"S", Moving, `not hung: sh (7) executed a\x1b while it was looked at`},
		{"had ended before", Asked, false, Activity{}, []int{7}, "Z", Unknown,
			"sh (7) had ended before, and its parent make (6) has not waited for it"},
		{"no right to look", Asked, false, Activity{}, []int{7}, "S", Unknown,
			"sh (7) could not be sampled; its state is S"},
		{"no right to look at two", Asked, false, Activity{}, []int{6, 7}, "S", Unknown, "no process could be sampled"},
		{"gone before it was looked at", Asked, false, Activity{}, []int{9}, "S", Unknown,
			"it ended before it could be sampled"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := &Case{Roots: row.roots}
			if row.seen {
				c = blockedOn(asleep)
			}
			c.Roots, c.Activity, c.Trigger.Kind = row.roots, row.change, row.trigger
			c.Processes = []Process{{PID: 6, Name: "make"}, {PID: 7, Parent: 6, Name: "sh", State: row.state}}
			for i := range c.Moments {
				for _, d := range c.Moments[i].Dumps {
					d.Process.Comm = "sh"
				}
			}
			if v := Judge(c); v.Kind != row.kind || v.Sentence != row.want {
				t.Errorf("got %s: %s\nwant %s: %s", v.Kind, v.Sentence, row.kind, row.want)
			}
		})
	}
}

// TestUnseen: of a process that no moment sampled, the kernel's counters alone tell whether it moves.
func TestUnseen(t *testing.T) {
	began := time.Now()
	for _, row := range []struct {
		cpu  time.Duration
		kind Kind
		want string
	}{
		{0, Unknown, "sh (7) could not be sampled; its state is S; the kernel counted 0.0 s of CPU in 7.0 s"},
		{3500 * time.Millisecond, Moving,
			"not hung: sh (7) uses 50 % of a CPU; in which function could not be sampled"},
	} {
		c := &Case{Roots: []int{7}, Processes: []Process{{PID: 7, Name: "sh", State: "S"}}}
		for _, at := range []time.Duration{0, 7 * time.Second} {
			now := Counters{Start: 1, Time: began.Add(at)}
			if at > 0 {
				now.CPU = row.cpu
			}
			c.Moments = append(c.Moments, Moment{Counters: map[int]Span{7: {Before: now, After: now}}})
		}
		if v := Judge(c); v.Kind != row.kind || v.Sentence != row.want {
			t.Errorf("got %s: %s\nwant %s: %s", v.Kind, v.Sentence, row.kind, row.want)
		}
	}
}
