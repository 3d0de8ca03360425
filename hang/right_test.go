package hang

import (
	"strings"
	"testing"
	"time"
	"unicode/utf8"

	"github.com/fpstack/fpstack/profile"
)

// TestWaitsByRight: what waits as it should is no hang, and the same without the reason is one.
func TestWaitsByRight(t *testing.T) {
	self := []profile.Waker{{PID: 7}}
	const term, alarm = 1 << 14, 1 << 13
	for _, row := range []struct {
		name        string
		right, hung profile.Wait
		want        string // the end of what is said of right
	}{
		{"a pipe that a handler of SIGTERM writes to",
			profile.Wait{Sort: profile.SortPipeData, Mode: profile.WaitAny, Wakers: self, Handled: term},
			profile.Wait{Sort: profile.SortPipeData, Mode: profile.WaitAny, Wakers: self},
			"waits for a signal: SIGTERM"},
		{"a semaphore that SIGALRM posts",
			profile.Wait{Sort: profile.SortSemaphore, Kind: "semaphore", Mode: profile.WaitAny, Wakers: self,
				Text: "waits for semaphore 0x10", Handled: alarm, Alarm: true},
			profile.Wait{Sort: profile.SortSemaphore, Kind: "semaphore", Mode: profile.WaitAny, Wakers: self,
				Text: "waits for semaphore 0x10"},
			"which a timer of its own may end"},
		{"sigwait",
			profile.Wait{Sort: profile.SortSignal, Mode: profile.WaitOutside, Handled: term},
			profile.Wait{Sort: profile.SortSignal, Mode: profile.WaitOutside},
			"waits for a signal: SIGTERM"},
		{"files that change",
			profile.Wait{Sort: profile.SortSet, Mode: profile.WaitOutside, Set: []profile.WaitPart{
				{FD: 4, Sort: profile.SortWatch}}},
			profile.Wait{Sort: profile.SortSet, Mode: profile.WaitOutside, Set: []profile.WaitPart{
				{FD: 4, Sort: profile.SortDevice}}},
			"waits for a change of a file"},
		{"a connection of a server to its client",
			profile.Wait{Sort: profile.SortSet, Mode: profile.WaitAny, Listens: true,
				Wakers: []profile.Waker{{PID: 99}},
				Set: []profile.WaitPart{{FD: 3, Listens: true}, {FD: 4, Sort: profile.SortSocketData,
					Wakers: []profile.Waker{{PID: 99}}}}},
			profile.Wait{Sort: profile.SortSocketData, Made: true, Mode: profile.WaitAny,
				Wakers: []profile.Waker{{PID: 99}}},
			"waits for connections"},
	} {
		t.Run(row.name, func(t *testing.T) {
			v := Judge(blockedOn(row.right))
			if v.Kind.Hung() || !strings.HasSuffix(v.Sentence, row.want) {
				t.Errorf("got %s: %s; want no hang: … %s", v.Kind, v.Sentence, row.want)
			}
			if v := Judge(blockedOn(row.hung)); !v.Kind.Hung() {
				t.Errorf("without the reason: got %s: %s; want a hang", v.Kind, v.Sentence)
			}
		})
	}
}

// TestGivesUp: a wait that ends by itself is no hang, unless it is one of many that ended so.
func TestGivesUp(t *testing.T) {
	for _, row := range []struct {
		name  string
		left  time.Duration
		wakes uint64
		want  Kind
	}{
		{"since before the first moment", 50 * time.Second, 0, Unknown},
		{"begun between the moments", 56 * time.Second, 1, Unknown},
		{"one of many that others ended", 56 * time.Second, 9, Waiting},
		{"one of many with a short limit", time.Second, 1, Waiting},
		{"for a day", 24 * time.Hour, 0, Waiting},
	} {
		c := blockedOn(profile.Wait{Sort: profile.SortCondition, Mode: profile.WaitAny,
			Text: "waits for condition variable", Wakers: []profile.Waker{{PID: 7}}, Timed: true, Left: row.left})
		for i := range c.Moments {
			grew := Counters{Time: c.Moments[i].Time, Voluntary: row.wakes * uint64(i)}
			c.Moments[i].Counters[7] = Span{Before: grew, After: grew}
		}
		if v := Judge(c); v.Kind != row.want {
			t.Errorf("%s: got %s: %s; want %s", row.name, v.Kind, v.Sentence, row.want)
		}
	}
}

// TestChildrenEndAWait: a pipe to itself that SIGCHLD writes to is a wait for the children.
func TestChildrenEndAWait(t *testing.T) {
	c := blockedOn(profile.Wait{Sort: profile.SortTime, Mode: profile.WaitTime, Left: 45e9})
	for i := range c.Moments {
		c.Moments[i].Dumps[1].Threads[0].Wait = &profile.Wait{Sort: profile.SortPipeData, Mode: profile.WaitAny,
			Wakers: []profile.Waker{{PID: 6}}, Children: []int{7}}
	}
	want := "sh (6) waits for job (7), which is asleep for 45.0 s more, in f"
	if v := Judge(c); v.Kind != Unknown || v.Sentence != want {
		t.Errorf("got %s: %q, want %q", v.Kind, v.Sentence, want)
	}
}

// TestLongSleep: a sleep of more than a day is a hang, in hours.
func TestLongSleep(t *testing.T) {
	v := Judge(blockedOn(profile.Wait{Sort: profile.SortTime, Mode: profile.WaitTime, Left: 100000e9}))
	if v.Kind != Waiting || !strings.Contains(v.Sentence, "is asleep for 27.8 h more") {
		t.Errorf("got %s: %q", v.Kind, v.Sentence)
	}
	// A thread that woke seven times between the moments has not slept for a day.
	c := blockedOn(profile.Wait{Sort: profile.SortTime, Mode: profile.WaitTime, Left: 100000e9})
	woken := c.Moments[1].Counters[7]
	woken.Before.CPU, woken.Before.Voluntary = 1e6, 7
	woken.After = woken.Before
	c.Moments[1].Counters[7] = woken
	if v := Judge(c); v.Kind.Hung() {
		t.Errorf("of one that woke: %s: %q", v.Kind, v.Sentence)
	}
}

// TestFibers: goroutines hang by each other where nobody else could end their waits.
func TestFibers(t *testing.T) {
	const (
		lock, send, receive = profile.FiberLock, profile.FiberSend, profile.FiberReceive
		group, net, timer   = profile.FiberGroup, profile.FiberNet, profile.FiberTimer
		signals             = "signals" // the goroutine by which Go hands them out, in a call on a thread
	)
	for _, row := range []struct {
		name   string
		waits  []profile.FiberWait
		timers bool
		want   []uint64 // ids, from 1 on in the order of waits
	}{
		{"two locks beside an idle server", []profile.FiberWait{group, net, lock, lock}, false, []uint64{3, 4}},
		{"the holder may sleep", []profile.FiberWait{lock, timer}, false, nil},
		{"one runs", []profile.FiberWait{lock, profile.FiberRuns}, false, nil},
		{"all wait", []profile.FiberWait{group, receive}, false, []uint64{2, 1}},
		{"workers of a server", []profile.FiberWait{net, receive, receive}, false, nil},
		{"a timer brings something", []profile.FiberWait{receive}, true, nil},
		{"signals may bring something", []profile.FiberWait{receive, signals}, false, nil},
		{"signals do not end a group", []profile.FiberWait{group, receive, signals}, false, []uint64{1}},
		{"a call of its own", []profile.FiberWait{group, profile.FiberCall}, false, nil},
		{"a sender beside a ticker", []profile.FiberWait{receive, send, receive}, true, []uint64{2}},
	} {
		d := &profile.Dump{}
		for i, w := range row.waits {
			d.Fibers = append(d.Fibers, profile.Fiber{Kind: "goroutine", ID: uint64(i + 1), Wait: w,
				Missing: "not here"})
			if w == signals {
				d.Fibers[i].Wait, d.Fibers[i].TID = profile.FiberCall, 8
				d.Threads = []profile.Thread{{TID: 8, Stack: profile.Stack{Frames: []profile.Frame{
					{Func: "runtime.notetsleepg"}, {Func: "os/signal.signal_recv"}}}}}
			}
		}
		var got []uint64
		stuck, _ := stuckFibers(d, row.timers)
		for _, f := range stuck {
			got = append(got, f.ID)
		}
		if len(got) != len(row.want) {
			t.Errorf("%s: got %v, want %v", row.name, got, row.want)
			continue
		}
		for i := range got {
			if got[i] != row.want[i] {
				t.Errorf("%s: got %v, want %v", row.name, got, row.want)
			}
		}
	}
}

// TestLocksBesideConnections: a server whose goroutines wait for a lock is no idle one, though another of them, which
// sleeps, may have the lock.
func TestLocksBesideConnections(t *testing.T) {
	for sleeper, want := range map[profile.FiberWait]string{
		profile.FiberTimer: "waits for connections, and has 2 goroutines that wait for a lock: " +
			"goroutine 1 [sync.Mutex.Lock] in handle (server.go:14)",
		profile.FiberNet: "has 2 goroutines that wait for a lock, and none that could unlock them: " +
			"goroutine 1 [sync.Mutex.Lock] in handle (server.go:14)",
	} {
		c := blockedOn(profile.Wait{Sort: profile.SortSet, Mode: profile.WaitIdle, Listens: true,
			Set: []profile.WaitPart{{FD: 3, Listens: true}}})
		for i := range c.Moments {
			for _, d := range c.Moments[i].Dumps {
				if d.Process.PID != 7 {
					continue
				}
				at := profile.Frame{Func: "handle", File: "/src/server.go", Line: 14, Module: -1}
				d.FiberStacks = []profile.FiberStack{{Stack: profile.Stack{Frames: []profile.Frame{at}}}}
				locked := profile.Fiber{Kind: "goroutine", ID: 1, Wait: profile.FiberLock, State: "sync.Mutex.Lock"}
				second := locked
				second.ID = 2
				d.Fibers = []profile.Fiber{locked, second, {Kind: "goroutine", ID: 3, Wait: sleeper, Stack: -1}}
			}
		}
		if v := Judge(c); !strings.Contains(v.Sentence, want) || v.Kind.Hung() != (sleeper == profile.FiberNet) {
			t.Errorf("beside one that waits for %s: %s: %s; want … %s", sleeper, v.Kind, v.Sentence, want)
		}
	}
}

// TestSentencesFit: however long names are, a sentence has under 200 characters and keeps who it is about.
func TestSentencesFit(t *testing.T) {
	c := blockedOn(profile.Wait{Sort: profile.SortSocketData, Mode: profile.WaitOutside,
		Peer: strings.Repeat("a very long name of a host ", 20)})
	v := Judge(c)
	if n := utf8.RuneCountInString(v.Sentence); n >= 200 || !strings.HasPrefix(v.Sentence, "sh (6) waits for job (7)") {
		t.Errorf("%d characters: %s", n, v.Sentence)
	}
}

// TestTestsFit: the test that a sentence is about stays, and what is said before is cut.
func TestTestsFit(t *testing.T) {
	const test = "; in the test TestDrain"
	for _, row := range [][2]string{{"short", "short" + test}, {strings.Repeat("é", 250), ""}} {
		got := withTests(row[0], test)
		if n := utf8.RuneCountInString(got); n >= 200 || !strings.HasSuffix(got, test) ||
			row[1] != "" && got != row[1] {
			t.Errorf("%d characters: %s", n, got)
		}
	}
	if got := withTests("it hangs", strings.Repeat("x", 300)); utf8.RuneCountInString(got) >= 200 {
		t.Errorf("got %s", got)
	}
}

// TestCyclesOfStrangers: threads that wait for each other, and for whom nothing of the tree waits, do not concern it.
func TestCyclesOfStrangers(t *testing.T) {
	for _, member := range []int{99, 7} {
		c := blockedOn(profile.Wait{Sort: profile.SortTerminalInput, Mode: profile.WaitOutside})
		c.Moments[1].Waits.Cycles = []profile.WaitCycle{{Kind: profile.CycleDeadlock, Threads: []int{member}}}
		if v := Judge(c); (v.Kind == Deadlock) != (member == 7) {
			t.Errorf("a deadlock of %d: %s: %s", member, v.Kind, v.Sentence)
		}
	}
}

// TestShortNames: of the name of a function in Go the package's path goes, and nothing of another language's.
func TestShortNames(t *testing.T) {
	for name, want := range map[string]string{
		"example.com/queue.drain": "queue.drain", "main.main": "main.main",
		"a.b/c/d.(*T).Run[go.shape/int]": "d.(*T).Run[go.shape/int]",
		"operator/(int)":                 "operator/(int)", "Vec::operator/": "Vec::operator/", "": "",
	} {
		if got := shortName(name); got != want {
			t.Errorf("%q: got %q, want %q", name, got, want)
		}
	}
}

// TestHousekeepersRest: what a runtime does for itself keeps nothing from being a hang, and what others do does.
func TestHousekeepersRest(t *testing.T) {
	for name, want := range map[string]Kind{"G1 Service": Waiting, "worker": Unknown} {
		latch := profile.Wait{Sort: profile.SortCondition, Kind: "a CountDownLatch", Mode: profile.WaitAny,
			Text: "waits for a CountDownLatch", Wakers: []profile.Waker{{PID: 7}}}
		c := twice(Counters{}, "S", []string{"f"}, []string{"f"})
		for i := range c.Moments {
			m := &c.Moments[i]
			m.Dumps[0].Threads[0].Wait = &latch
			m.Dumps[0].Threads = append(m.Dumps[0].Threads, profile.Thread{TID: 8, Name: name, State: "S",
				Stack: profile.Stack{Frames: []profile.Frame{{Func: []string{"a", "b"}[i]}}},
				Wait:  &profile.Wait{Sort: profile.SortTime, Mode: profile.WaitTime, Length: time.Second}})
			at := Counters{Time: m.Time, CPU: time.Duration(i) * time.Millisecond, Voluntary: uint64(3 * i)}
			m.Counters[8] = Span{Before: at, After: at}
		}
		if v := Judge(c); v.Kind != want {
			t.Errorf("beside %q: got %s: %s, want %s", name, v.Kind, v.Sentence, want)
		}
	}
}

// TestBuiltIn: what a language has built in, and what of it could not be read, is nobody's own function.
func TestBuiltIn(t *testing.T) {
	for kind, want := range map[profile.Kind]bool{profile.JavaScript: false, profile.Python: false,
		profile.Native: true} {
		if got := isOwn(&profile.Dump{}, &profile.Frame{Func: "wait", Kind: kind, Module: -1}); got != want {
			t.Errorf("kind %v without a file: got %t, want %t", kind, got, want)
		}
	}
	// A reader of Maven that waits for what the JVM of the tests says is no test.
	if isOwn(&profile.Dump{}, &profile.Frame{Kind: profile.Java, File: "ThreadedStreamConsumer.java", Line: 77,
		Func: "org.apache.maven.plugin.surefire.booterclient.output.ThreadedStreamConsumer$Pumper.run", Module: -1}) {
		t.Error("a function of Maven is the user's own")
	}
	if !isOwn(&profile.Dump{}, &profile.Frame{Func: "main", File: "/srv/app.py", Kind: profile.Python, Module: -1}) {
		t.Error("a function of Python with a file is none of the user's own")
	}
}
