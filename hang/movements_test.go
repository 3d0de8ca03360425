package hang

import (
	"strings"
	"testing"
	"time"

	"github.com/fpstack/fpstack/profile"
)

// twoBusy is a case of process 7 whose threads 7 and 8, of that name, compute: 8 for twice as long, and where it was
// met there is no function of the program.
func twoBusy(name string) *Case {
	c := twice(Counters{CPU: 300 * time.Millisecond, Voluntary: 5}, "R", []string{"f", "main"}, []string{"g", "main"})
	for i := range c.Moments {
		m := &c.Moments[i]
		m.Dumps[0].Threads = append(m.Dumps[0].Threads, profile.Thread{TID: 8, Name: name, State: "R",
			Stack: profile.Stack{Frames: []profile.Frame{{Func: []string{"runtime.a", "runtime.b"}[i]}}}})
		at := Counters{Time: m.Time, CPU: time.Duration(i) * 600 * time.Millisecond, Voluntary: uint64(3 * i)}
		m.Counters[8] = Span{Before: at, After: at}
	}
	return c
}

// TestFibersChangeThreads: of a program whose goroutines change threads it is the program that uses the CPU, in the
// function in which any of its threads was met, though another used more and was met in none; of others each thread
// stands for itself.
func TestFibersChangeThreads(t *testing.T) {
	c := twoBusy("job")
	if v := Judge(c); strings.Contains(v.Sentence, " in ") || !strings.Contains(v.Sentence, "thread 8") {
		t.Errorf("threads: %q", v.Sentence)
	}
	for i := range c.Moments {
		d := c.Moments[i].Dumps[0]
		d.Fibers = []profile.Fiber{{Kind: "goroutine", ID: 1, Wait: profile.FiberRuns, TID: 7}}
	}
	v := Judge(c)
	if v.Kind != Moving || !strings.HasSuffix(v.Sentence, "% of a CPU in f") ||
		strings.Contains(v.Sentence, "thread") || v.Culprit == nil ||
		v.Culprit.Frame == nil || v.Culprit.Frame.Func != "f" {
		t.Errorf("goroutines: %s: %q, culprit %+v", v.Kind, v.Sentence, v.Culprit)
	}
}

// TestFibersOfStarvedThreads: a goroutine was met on a thread that was short of CPU, while another one ran.
func TestFibersOfStarvedThreads(t *testing.T) {
	c := twoBusy("job")
	for i := range c.Moments {
		m := &c.Moments[i]
		m.Dumps[0].Fibers = []profile.Fiber{{Kind: "goroutine", ID: 1, Wait: profile.FiberRuns, TID: 7}}
		at := Counters{Time: m.Time, CPU: time.Duration(i) * 100 * time.Millisecond,
			Delay: time.Duration(i) * 6800 * time.Millisecond}
		m.Counters[7] = Span{Before: at, After: at}
	}
	if v := Judge(c); v.Kind != Moving || v.Culprit == nil || v.Culprit.Frame == nil || v.Culprit.Frame.Func != "f" {
		t.Errorf("%s: %q, culprit %+v", v.Kind, v.Sentence, v.Culprit)
	}
}

// TestReadyFibers: where no thread was met in a function of the program, a goroutine that is ready to run shows one.
func TestReadyFibers(t *testing.T) {
	c := twoBusy("job")
	for i := range c.Moments {
		d := c.Moments[i].Dumps[0]
		d.Threads[0].Stack.Frames = []profile.Frame{{Func: []string{"runtime.c", "runtime.d"}[i]}}
		d.Fibers = []profile.Fiber{{Kind: "goroutine", ID: 1, Wait: profile.FiberRuns}}
		d.FiberStacks = []profile.FiberStack{{Stack: profile.Stack{Frames: []profile.Frame{{Func: "main.work"}}}}}
	}
	if v := Judge(c); !strings.HasSuffix(v.Sentence, " in main.work") {
		t.Errorf("%q", v.Sentence)
	}
}

// TestOwnWorkIsLast: what a runtime does for itself is named behind what the program does.
func TestOwnWorkIsLast(t *testing.T) {
	v := Judge(twoBusy("C2 CompilerThre"))
	if !strings.HasPrefix(v.Sentence, "not hung: job (7) uses") || len(v.Because) == 0 ||
		!strings.Contains(v.Because[0], "C2 CompilerThre") {
		t.Errorf("%q, %q", v.Sentence, v.Because)
	}
}

// TestStarvedPlace: what is short of CPU is shown where it was met in a function of the program, in whichever moment.
func TestStarvedPlace(t *testing.T) {
	c := twice(Counters{CPU: 100 * time.Millisecond, Delay: 6800 * time.Millisecond, Preemptive: 90}, "R",
		[]string{"f", "main"}, []string{"runtime.gc"})
	v := Judge(c)
	if v.Kind != Starved || v.Culprit == nil || v.Culprit.Frame == nil || v.Culprit.Frame.Func != "f" {
		t.Errorf("%s: %q, culprit %+v", v.Kind, v.Sentence, v.Culprit)
	}
}
