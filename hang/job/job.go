//go:build linux

package job

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/fpstack/fpstack/hang"
	"github.com/fpstack/fpstack/hang/supervise"
	"github.com/fpstack/fpstack/hang/trigger"
)

// Options are how a command is run.
type Options struct {
	Argv   []string
	Files  []uintptr          // as [supervise.Options] has them
	Around func(start func()) // the same
	Limits trigger.Limits
	Kernel trigger.Kernel
	// Grace is how long a capture may take after a signal, or after our parent has ended.
	Grace time.Duration
	// Whole is how long any other capture may take.
	Whole time.Duration
	// EndSignal ends the tree after a limit, 0: SIGTERM.
	EndSignal syscall.Signal
	// Patience is how long the tree may live on after that before SIGKILL.
	Patience time.Duration
	// PreserveStatus makes the status after a limit the command's own.
	PreserveStatus bool
	// DumpSignal asks for a capture and nothing else, 0: no signal does.
	DumpSignal syscall.Signal
	Leftovers  Leftovers
	// InJob says that a CI system has started us. Then the end of our parent is a trigger, and who wants us to end
	// wants the whole tree to end.
	InJob    bool
	Children supervise.Children
}

// Leftovers is what becomes of processes that run when the command has ended by itself.
type Leftovers string

// The kinds. Their text is that of the command line.
const (
	Leave Leftovers = "leave" // they go on, as they would without us
	Wait  Leftovers = "wait"  // until they have ended too
	Kill  Leftovers = "kill"  // they are ended
)

// Observer gets to know what happens. Its methods are called one at a time, Capture from another goroutine. Nothing
// waits for a Capture that takes much longer than it may: the end of a command depends on no one who writes.
type Observer interface {
	// Started is called once, when the command runs.
	Started(h Helper)
	// Capture says what the tree is doing. It returns soon after ctx has ended, and has stored what it has by then.
	// harmed says that it did what may have ended processes: then the status of the command is not its own.
	Capture(ctx context.Context, t hang.Trigger, tree Tree) (harmed bool)
	// Say gives a person one line, which may hold any bytes of the target. It must not block, and is called by any
	// goroutine.
	Say(line string)
}

// Tree is what runs below us.
type Tree struct {
	Root  int          // the command
	Began time.Time    // when it was started
	List  func() []int // all processes, parents before their children
	// Killed are processes of it that somebody ended by SIGTERM or SIGKILL, as far as that was seen: in a CI job alone.
	Killed []supervise.Killed
	// Seen are command lines that were met, as far as somebody looked; nil for none.
	Seen map[string]bool
	// Hurried says that somebody wants us to end: the context ends with the grace, and the best comes first.
	Hurried bool
	Helper  Helper
}

// Helper calls start, which starts a program of ours and gives its id; that is none of the tree.
type Helper func(start func() (pid int, err error)) error

// Outcome is how it ended.
type Outcome struct {
	Status int            // for a shell: the command's own, or 128 and the signal, or Limited
	Death  syscall.Signal // that ended the command, 0 if none did or we ended it for a limit
	// HadTerminal says that the terminal was in the hands of the command when it ended.
	HadTerminal bool
	Left        []int // processes that run on
}

// Limited is the status after a limit, as timeout(1) has it.
const Limited = 124

// job is one command that runs.
type job struct {
	Options
	to       Observer
	terminal *supervise.Terminal
	orphans  *supervise.Orphans
	command  *supervise.Command
	watch    *trigger.Watch
	ends     supervise.Ends
	began    time.Time
	shared   bool // others of our process group use the terminal, as a pager behind a pipe

	signals chan os.Signal
	goOn    chan os.Signal // SIGCONT
	capture *capture       // the one that runs, nil if none does
	ending  *ending        // nil before
	asked   asked          // who wants us to end
	limited bool           // we end it for a limit, or for our parent

	stopKnown bool      // a stop of the command was handled, and it has not gone on since
	reaped    time.Time // when orphans were reaped
	reapLater bool      // they will be again
}

// Run starts the command, and returns when it has ended and nothing is left to do for it. The error, a
// *supervise.StartError, says that it did not start.
func Run(o Options, to Observer) (*Outcome, error) {
	j := &job{Options: o, to: to, signals: make(chan os.Signal, 64), goOn: make(chan os.Signal, 1)}
	var parent <-chan struct{}
	if o.InJob {
		parent = supervise.ParentEnded()
	}
	j.terminal = supervise.OpenTerminal()
	defer j.terminal.Close()
	var err error
	if j.orphans, err = supervise.AdoptOrphans(o.Children); err != nil {
		to.Say(fmt.Sprintf("what the command leaves behind is not followed: %v", err))
	}
	signal.Notify(j.signals, j.caught()...)
	signal.Notify(j.goOn, syscall.SIGCONT)
	defer signal.Stop(j.goOn)
	defer signal.Stop(j.signals)
	lent := j.terminal
	if j.shared = j.terminal.Shared(); j.shared {
		lent = nil
	}
	j.began = time.Now()
	j.command, err = supervise.Start(o.Argv, supervise.Options{Files: o.Files, Around: o.Around, Group: true,
		Terminal: lent})
	if err != nil {
		return nil, err
	}
	// From here on nothing is started that inherits it: what we say to a terminal that has become the command's would
	// stop us (stty tostop).
	signal.Ignore(syscall.SIGTTOU)
	j.orphans.Follow(j.command)
	live := &trigger.Live{Kernel: o.Kernel, List: j.orphans.Below,
		Outputs: []string{"/proc/self/fd/1", "/proc/self/fd/2"}}
	if o.Limits.Idle > 0 || o.Limits.Silent > 0 {
		writes := supervise.WatchWrites(live.Outputs)
		defer writes.Close()
		live.Writes = writes.Count
	}
	j.watch = trigger.New(o.Limits, j.began, live, to.Say)
	defer j.ends.Close()
	to.Started(j.orphans.Helper)
	return j.follow(parent), nil
}

// follow is the loop of events, from the start of the command to its end.
func (j *job) follow(parent <-chan struct{}) *Outcome {
	tick := time.NewTimer(j.watch.Next(time.Now()))
	defer tick.Stop()
	for {
		select {
		case <-j.command.Ended():
			return j.finish(j.onEnd())
		case s := <-j.signals:
			j.heed(s.(syscall.Signal))
		case <-j.goOn:
			j.resume()
		case <-parent:
			parent = nil
			j.wanted(0)
		case <-tick.C:
			j.noticeResume()
			j.tick()
		case <-j.capture.ended():
			j.afterCapture()
		case left := <-j.ending.left():
			return j.finish(left)
		}
		tick.Reset(j.watch.Next(time.Now()))
	}
}

// tick is what is done once a second.
func (j *job) tick() {
	j.orphans.Reap()
	if j.InJob {
		j.ends.Check(time.Now(), j.orphans.Below)
	}
	if !j.shared {
		j.lend()
	}
	j.checkStop()
	if j.capture != nil || j.ending != nil {
		j.watch.Skip(time.Now())
		return
	}
	switch t, reached := j.watch.Check(time.Now()); {
	case !reached:
	case t.Kind == hang.Warned:
		j.begin(t, false, nil)
	default:
		j.begin(t, false, j.endLimited)
	}
}

// endLimited ends the tree for a limit, or as nobody is there any more who waits for it.
func (j *job) endLimited() {
	j.limited = true
	j.endAll(supervise.Ending{First: j.EndSignal})
}
