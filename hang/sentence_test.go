package hang

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// blockedOn is a case of process 7 "job", which did not run and waits for w, as the shell 6, its parent, waits for it.
func blockedOn(w profile.Wait) *Case {
	c := twice(Counters{}, "S", []string{"f", "main"}, []string{"f", "main"})
	c.Roots = []int{6}
	c.Processes = []Process{{PID: 6, Name: "sh", Session: 1}, {PID: 7, Parent: 6, Name: "job", Session: 1}}
	parent := profile.Wait{Sort: profile.SortChild, Kind: "the end of a child", Mode: "any",
		Wakers: []profile.Waker{{PID: 7}}}
	for i := range c.Moments {
		m := &c.Moments[i]
		m.Dumps[0].Threads[0].Wait = &w
		m.Counters[6] = m.Counters[7]
		m.Dumps = append(m.Dumps, &profile.Dump{Process: profile.Process{PID: 6, Comm: "sh"},
			Threads: []profile.Thread{{TID: 6, Name: "sh", State: "S", Wait: &parent}}})
		m.Waits = &profile.Waits{Processes: []profile.Process{{PID: 99, Comm: "other\x1b[31m"}},
			Threads: []profile.WaitingThread{{PID: 99, Thread: profile.Thread{TID: 99, State: "S"}}}}
	}
	return c
}

func TestSentences(t *testing.T) {
	other := []profile.Waker{{PID: 99}}
	for _, row := range []struct {
		name string
		wait profile.Wait
		tell func(*Case)
		kind Kind
		want string
	}{
		{name: "another machine", kind: Waiting,
			wait: profile.Wait{Sort: profile.SortSocketData, Kind: "data from a socket", Mode: "outside",
				Peer: "10.0.0.7:5432"},
			want: "sh (6) waits for job (7), which reads from 10.0.0.7:5432, and gets no answer"},
		{name: "another process of this machine", kind: Waiting,
			wait: profile.Wait{Sort: profile.SortSocketData, Kind: "data from a socket", Mode: "any", Wakers: other,
				Peer: "127.0.0.1:5432"},
			want: `sh (6) waits for job (7), which reads from 127.0.0.1:5432; the other end is ` +
				`other\x1b[31m (99), outside this tree`},
		{name: "a lock of a file", kind: Waiting,
			wait: profile.Wait{Sort: profile.SortFileLock, Kind: "lock on a file", Mode: "one", Wakers: other,
				Name: "/var/lib/dpkg/lock-frontend"},
			want: `sh (6) waits for job (7), which waits for lock /var/lib/dpkg/lock-frontend, ` +
				`held by other\x1b[31m (99), outside this tree`},
		{name: "the end of a thread", kind: Waiting,
			wait: profile.Wait{Sort: profile.SortThread, Kind: "the end of a thread", Mode: "one", Wakers: other},
			want: `sh (6) waits for job (7), which waits for the end of other\x1b[31m (99), outside this tree`},
		{name: "a terminal", kind: Waiting,
			wait: profile.Wait{Sort: profile.SortTerminalInput, Kind: "input from a terminal", Mode: "outside",
				Name: "/dev/pts/3"},
			tell: func(c *Case) { c.Processes[1].LastOutput = "Geographic area:" },
			want: `sh (6) waits for job (7), which reads standard input, which is a terminal; last output ` +
				`"Geographic area:"`},
		{name: "its own end of file", kind: Waiting,
			wait: profile.Wait{Sort: profile.SortPipeData, Kind: "data in a pipe", Mode: "any",
				Wakers: []profile.Waker{{PID: 7}},
				Name:   "pipe:[3]"},
			want: "sh (6) waits for job (7), which reads a pipe that only it can write to"},
		{name: "a file system that it serves itself", kind: Waiting,
			wait: profile.Wait{Sort: profile.SortFuse, Kind: "an answer of a FUSE file system", Mode: "any",
				Wakers: []profile.Waker{{PID: 7}},
				Name:   "/mnt/x, mounted at /mnt from test"},
			tell: func(c *Case) {
				c.Processes[1].Fuse = true
				for i := range c.Moments {
					c.Moments[i].Dumps[0].Threads[0].Wchan = "request_wait_answer"
					c.Moments[i].Dumps[0].Threads[0].State = "D"
				}
			},
			want: "sh (6) waits for job (7), which waits in request_wait_answer for an answer of a FUSE file system " +
				"(/mnt/x, mounted at /mnt from test); /dev/fuse is open in the same process"},
		{name: "a lock whose owner has exited", kind: Waiting,
			wait: profile.Wait{Sort: profile.SortLock, Kind: "mutex", Addr: 0x1000, Mode: "one", Lost: 12,
				Certainty: "proven"},
			want: "sh (6) waits for job (7), which waits for mutex 0x1000 held by thread 12, which has exited"},
		{name: "a long sleep", kind: Waiting,
			wait: profile.Wait{Sort: profile.SortTime, Kind: "time", Mode: "time",
				Text: "sleeps until a time, 16m40s left", Left: 1000e9},
			want: "sh (6) waits for job (7), which is asleep for 1000 s more, in f"},
		{name: "a short sleep", kind: Unknown,
			wait: profile.Wait{Sort: profile.SortTime, Kind: "time", Mode: "time", Text: "sleeps 3.0 s"},
			want: "sh (6) waits for job (7), which sleeps 3.0 s, in f"},
		{name: "a server", kind: Unknown,
			wait: profile.Wait{Sort: profile.SortSet, Kind: "descriptors", Mode: "outside", Listens: true},
			want: "sh (6) waits for job (7), which waits for connections"},
		{name: "stopped", kind: Halted,
			wait: profile.Wait{Sort: profile.SortHalted, Kind: "SIGCONT", Mode: "outside"},
			tell: func(c *Case) {
				for i := range c.Moments {
					c.Moments[i].Dumps[0].Threads[0].State = "T"
				}
			},
			want: "sh (6) waits for job (7), which is stopped by a signal (SIGSTOP or the terminal)"},
	} {
		t.Run(row.name, func(t *testing.T) {
			c := blockedOn(row.wait)
			if row.tell != nil {
				row.tell(c)
			}
			if v := Judge(c); v.Sentence != row.want || v.Kind != row.kind {
				t.Errorf("got %s:\n%s\nwant %s:\n%s", v.Kind, v.Sentence, row.kind, row.want)
			}
		})
	}
}

// TestServersWaitByRight: a server that waits for connections does not hang, and is shown by the thread that listens,
// not by one that waits for work of it.
func TestServersWaitByRight(t *testing.T) {
	c := blockedOn(profile.Wait{Sort: profile.SortSet, Kind: "descriptors", Mode: "any", Timed: true, Listens: true,
		Wakers: []profile.Waker{{PID: 7}}})
	for i := range c.Moments { // one of its pool waits for a condition variable
		d := c.Moments[i].Dumps[0]
		d.Threads = append(d.Threads, profile.Thread{TID: 8, Name: "pool", State: "S",
			Wait: &profile.Wait{Sort: profile.SortCondition, Kind: "condition variable", Mode: "any",
				Text: "waits for condition variable 0x10"}})
		for k, f := range []string{"<module>", "worker"} {
			d.Threads[k].Stack = profile.Stack{Complete: true,
				Frames: []profile.Frame{{Func: f, File: "/srv/app.py", Line: 7, Kind: profile.Python}}}
		}
		c.Moments[i].Counters[8] = c.Moments[i].Counters[7]
	}
	v := Judge(c)
	if want := "sh (6) waits for job (7), which waits for connections"; v.Kind != Unknown || v.Sentence != want ||
		v.Culprit == nil || v.Culprit.TID != 7 {
		t.Errorf("got %s: %q, by %+v, want unknown: %q, by thread 7", v.Kind, v.Sentence, v.Culprit, want)
	}
}

func TestActivityExcludesAHang(t *testing.T) {
	for _, row := range []struct {
		name string
		a    Activity
		want string
	}{
		{"a download", Activity{Network: 1 << 20}, "1024 kB came and went by network"},
		{"a copy", Activity{IO: 30 << 20}, "30 MB were read and written"},
		{"a log", Activity{Output: 12}, "12 bytes of output"},
		{"a build", Activity{Commands: []string{"cc -c a.c"}, Began: 2}, "2 processes began, as cc -c a.c"},
	} {
		c := blockedOn(profile.Wait{Sort: profile.SortSocketData, Kind: "data from a socket", Mode: "outside",
			Name: "tcp a -> b"})
		c.Activity = row.a
		if v := Judge(c); v.Kind != Moving || !strings.HasSuffix(v.Sentence, row.want) {
			t.Errorf("%s: got %s: %q, want moving: %q", row.name, v.Kind, v.Sentence, row.want)
		}
	}
}

func TestDeadlockCountsThoughOthersMove(t *testing.T) {
	c := blockedOn(profile.Wait{Sort: profile.SortLock, Kind: "mutex", Mode: "one", Wakers: []profile.Waker{{PID: 7,
		TID: 7}}})
	c.Activity.IO = 30 << 20
	c.Moments[1].Waits.Cycles = []profile.WaitCycle{{Kind: "deadlock", Text: "deadlock: the thread waits for itself",
		Threads: []int{7}}}
	v := Judge(c)
	want := "sh (6) waits for job (7): deadlock: the thread waits for itself, in f"
	if v.Kind != Deadlock || v.Sentence != want {
		t.Errorf("got %s: %q, want %q", v.Kind, v.Sentence, want)
	}
}

func TestLongChainsAreCut(t *testing.T) {
	c := &Case{Roots: []int{1}}
	m := Moment{Counters: map[int]Span{}}
	for pid := 1; pid <= 12; pid++ {
		w := &profile.Wait{Sort: profile.SortChild, Kind: "the end of a child", Mode: "any",
			Wakers: []profile.Waker{{PID: pid + 1}}}
		if pid == 12 {
			w = &profile.Wait{Sort: profile.SortSignal, Kind: "a signal", Mode: "outside", Text: "waits for a signal"}
		}
		m.Dumps = append(m.Dumps, &profile.Dump{Process: profile.Process{PID: pid, Comm: fmt.Sprintf("p%d", pid)},
			Threads: []profile.Thread{{TID: pid, State: "S", Wait: w}}})
	}
	c.Moments = []Moment{m}
	want := "p1 (1) waits for p2 (2), which waits for p3 (3), which waits for p4 (4), which waits, " +
		"through 7 steps more, for p12 (12), which waits for a signal"
	if v := Judge(c); v.Sentence != want {
		t.Errorf("got  %q\nwant %q", v.Sentence, want)
	}
}

func TestNothingSampled(t *testing.T) {
	if v := Judge(&Case{Problems: []string{"process 7: no"}}); v.Kind != Unknown || len(v.Lacks) != 1 {
		t.Errorf("got %+v, want unknown, and why", v)
	}
}

// TestCycleAfterWork: threads that wait for each other since the moment before the last hang, though they worked
// before; those that ran since then do not.
func TestCycleAfterWork(t *testing.T) {
	for _, later := range []uint64{0, 3} {
		c := blockedOn(profile.Wait{Sort: profile.SortPipeRoom, Kind: "room in a full pipe", Mode: "any",
			Wakers: []profile.Waker{{PID: 6}}})
		c.Moments[1].Waits.Cycles = []profile.WaitCycle{{Kind: "stuck", Text: "cycle of waits", Threads: []int{6, 7}}}
		third := c.Moments[1]
		third.Time = third.Time.Add(5 * time.Second)
		third.Counters = map[int]Span{}
		for tid, s := range c.Moments[1].Counters {
			s.Before.CPU += time.Second // between the first two
			s.Before.Voluntary += 500
			at := s.Before
			at.Time = third.Time
			c.Moments[1].Counters[tid] = Span{s.Before, s.Before}
			at.Voluntary += later
			third.Counters[tid] = Span{at, at}
		}
		c.Moments = append(c.Moments, third)
		if v := Judge(c); (v.Kind == Waiting) != (later == 0) {
			t.Errorf("with %d switches since: %s: %s", later, v.Kind, v.Sentence)
		}
	}
}

// TestRepeats: a loop of commands is no progress, also where one of them was met but once; commands that were not there
// before are.
func TestRepeats(t *testing.T) {
	for _, row := range []struct {
		name  string
		a     Activity
		moves bool
	}{
		{"a loop", Activity{Began: 7, Repeats: []string{"sleep 1"}}, false},
		{"a loop, of which something is rarely met", Activity{Began: 7, Repeats: []string{"sleep 1"},
			Commands: []string{"nc -z localhost 80"}}, false},
		{"a build", Activity{Began: 7, Repeats: []string{"sh -c as"}, Commands: []string{"cc -c a.c", "cc -c b.c"}},
			true},
		{"another command", Activity{Began: 1, Commands: []string{"cc -c a.c"}}, true},
	} {
		j := &judging{c: &Case{Activity: row.a}}
		if got := j.activity(); (len(got) > 0) != row.moves {
			t.Errorf("%s: got %q", row.name, got)
		}
	}
}

// TestRepeater: who starts the same command again and again is to look at, and not the command, which comes and goes.
// One that was there before is.
func TestRepeater(t *testing.T) {
	for began, want := range map[time.Duration]int{time.Second: 6, -time.Second: 7} {
		c := blockedOn(profile.Wait{Sort: profile.SortTime, Mode: profile.WaitTime, Length: time.Second})
		c.Activity = Activity{Began: 7, Repeats: []string{"sleep 1"}}
		c.Processes[1].Started = c.Moments[0].Time.Add(began)
		if v := Judge(c); v.Culprit == nil || v.Culprit.PID != want || !strings.Contains(v.Sentence, "it repeats") {
			t.Errorf("began %v: %q, culprit %+v, want %d", began, v.Sentence, v.Culprit, want)
		}
	}
}

// TestRepeaterOfNext: of a command that began after the processes had been looked at nothing is known: who starts it is
// to look at.
func TestRepeaterOfNext(t *testing.T) {
	c := twice(Counters{}, "S", []string{"wait4", "main"}, []string{"wait4", "main"})
	c.Activity = Activity{Began: 7, Repeats: []string{"sleep 1"}}
	c.Moments[1].Dumps[0].Threads[0].Wait = &profile.Wait{Sort: profile.SortChild, Kind: "the end of a child",
		Mode: profile.WaitAny, Wakers: []profile.Waker{{PID: 5177}}}
	const want = "job (7) repeats the same command: sleep 1"
	if v := Judge(c); v.Culprit == nil || v.Culprit.PID != 7 || v.Sentence != want {
		t.Errorf("got %q, culprit %+v, want %q", v.Sentence, v.Culprit, want)
	}
}
