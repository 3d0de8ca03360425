package hang

import (
	"time"

	"github.com/fpstack/fpstack/hang/testcase"
	"github.com/fpstack/fpstack/profile"
)

// Verdict is what a Case shows: whether the processes hang, and why. Its texts are for a person, with names of the
// target quoted and escaped.
type Verdict struct {
	Kind Kind `json:"kind"`
	// Sentence is the verdict in one line.
	Sentence string `json:"sentence"`
	// Because is the evidence, what matters most first, a line each.
	Because []string `json:"because"`
	// Cycle are the threads of the cycle whose waits Because has, all of them; nil for none.
	Cycle []int `json:"-"`
	// Culprit is the thread that somebody should look at first, nil if there is none.
	Culprit *Culprit `json:"-"`
	// Tests are those of test runners that run, that of the culprit first; nil for none that shows.
	Tests   []testcase.Test `json:"tests,omitempty"`
	Threads []Judged        `json:"-"` // all, in the order of the Case's last moment
	// Lacks are what could not be captured and why: what the verdict does not know.
	Lacks []string `json:"lacks"`
}

// Kind is the class of a verdict. Its text is that of hang.json.
type Kind string

// The kinds of verdict.
const (
	Deadlock Kind = "deadlock" // threads wait for each other, each edge proven
	Waiting  Kind = "waiting"  // all wait for one root, which does not go on
	Busy     Kind = "busy"     // a thread runs in the same place all the time: a loop, or long work
	Halted   Kind = "stopped"  // somebody stopped it
	Starved  Kind = "starved"  // the machine has no CPU for it
	Moving   Kind = "moving"   // slow, perhaps, but not hung
	Unknown  Kind = "unknown"
)

// Hung reports whether k says that nothing goes on by itself. Whether a loop ever ends nobody can know.
func (k Kind) Hung() bool { return k == Deadlock || k == Waiting || k == Halted }

// Culprit is the thread to look at first.
type Culprit struct {
	PID     int    `json:"pid"`
	TID     int    `json:"tid,omitempty"`
	Process string `json:"process,omitempty"`
	// Frame is the first of its frames that is the user's own: not of libc, a runtime or a test runner. nil if none is.
	Frame *profile.Frame `json:"-"`
	// Fiber is whose frame that is; nil if it is the thread's. Of one on no thread TID is a thread that could run it.
	Fiber *profile.Fiber `json:"-"`
}

// waitsApart reports whether it is a fiber that is on no thread.
func (c *Culprit) waitsApart() bool { return c.Fiber != nil && c.Fiber.TID == 0 }

// Judged is one thread and its class.
type Judged struct {
	PID   int           `json:"pid"`
	TID   int           `json:"tid"`
	Class Class         `json:"class"`
	Why   string        `json:"why,omitempty"` // the counters that say so, for a person
	CPU   time.Duration `json:"cpu_ns"`        // that it took between the moments
}

// Class is what a thread did between the first moment and the last.
type Class string

// The classes of threads.
const (
	Blocked  Class = "blocked"  // it did not run at all
	Waking   Class = "waking"   // it woke, did little and slept again in the same place
	Spinning Class = "spinning" // it had a CPU or wanted one all the time
	Going    Class = "moving"   // its stack, its system call or its output changed
	Hungry   Class = "starved"  // it waited for a CPU for longer than it had one
	Still    Class = "stopped"  // by a signal or a tracer
	InDisk   Class = "disk"     // an uninterruptible sleep
	New      Class = "new"
	Gone     Class = "gone"
	Unseen   Class = "unseen" // it was sampled once, so that what it did is not known
)
