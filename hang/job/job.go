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
	Around func(start func()) // as [supervise.Options] has it
	Limits trigger.Limits
	Kernel trigger.Kernel
	// Grace is how long a capture may take after a signal, or after our parent has ended.
	Grace time.Duration
	// Patience is how long the tree may live on after SIGTERM before SIGKILL.
	Patience time.Duration
	// DumpSignal asks for a capture and nothing else, 0: no signal does.
	DumpSignal syscall.Signal
	Leftovers  Leftovers
	// WithParent makes the end of our parent a trigger, which ends the command.
	WithParent bool
	Children   supervise.Children
}

// Leftovers is what becomes of processes that run when the command has ended by itself.
type Leftovers string

// The kinds. Their text is that of the command line.
const (
	Leave Leftovers = "leave" // they go on, as they would without us
	Wait  Leftovers = "wait"  // until they have ended too
	Kill  Leftovers = "kill"  // they are ended
)

// Observer gets to know what happens. Its methods are called one at a time, Capture from another goroutine.
type Observer interface {
	// Started is called once, when the command runs.
	Started()
	// Capture says what the tree is doing. It returns soon after ctx has ended, and has stored what it has by then. A
	// context that has a deadline is that of a signal: the best comes first. harmed says that it did what may have
	// ended processes: then the status of the command is not its own.
	Capture(ctx context.Context, t hang.Trigger, tree Tree) (harmed bool)
	// Say gives a person one line, which may hold any bytes of the target.
	Say(line string)
}

// Tree is what runs below us.
type Tree struct {
	Root  int          // the command
	Began time.Time    // when it was started
	List  func() []int // all processes, parents before their children
	// Killed are processes of it that somebody ended by SIGTERM or SIGKILL, as far as that was seen: in a CI job alone.
	Killed []supervise.Killed
}

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

	signals   chan os.Signal
	goOn      chan os.Signal // SIGCONT
	captured  chan struct{}  // closed when the capture that runs has ended, nil if none does
	cancel    context.CancelFunc
	next      func()         // what comes after the capture, nil: nothing
	bySignal  bool           // and it comes even if the command has ended by itself
	ending    chan []int     // what was left when all was ended, nil before
	hurry     chan struct{}  // closed: end by SIGKILL
	harmed    bool           // by a capture; valid when captured is closed
	limited   bool           // we end it for a limit, or for our parent
	wish      syscall.Signal // that wants us to end, 0: none came
	seen      int            // how often somebody wanted that
	heard     time.Time      // when it was counted
	stopKnown bool           // a stop of the command was handled, and it has not gone on since
	shared    bool           // others of our process group use the terminal, as a pager behind a pipe
	reaped    time.Time      // when orphans were reaped
	reapLater bool           // they will be again
}

// Run starts the command, and returns when it has ended and nothing is left to do for it. The error, a
// *supervise.StartError, says that it did not start.
func Run(o Options, to Observer) (*Outcome, error) {
	j := &job{Options: o, to: to, signals: make(chan os.Signal, 64), goOn: make(chan os.Signal, 1),
		hurry: make(chan struct{})}
	var parent <-chan struct{}
	if o.WithParent {
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
	j.command, err = supervise.Start(o.Argv, supervise.Options{Around: o.Around, Group: true, Terminal: lent})
	if err != nil {
		return nil, err
	}
	// From here on nothing is started that inherits it: what we say to a terminal that has become the command's would
	// stop us (stty tostop).
	signal.Ignore(syscall.SIGTTOU)
	j.orphans.Follow(j.command)
	live := &trigger.Live{Kernel: o.Kernel, List: j.orphans.Below,
		Outputs: []string{"/proc/self/fd/1", "/proc/self/fd/2"}}
	j.watch = trigger.New(o.Limits, j.began, live, to.Say)
	defer j.ends.Close()
	to.Started()
	return j.follow(parent), nil
}

// caught are the signals that mean something to us, or that we pass on; not those that were to be ignored.
func (j *job) caught() []os.Signal {
	all := []os.Signal{syscall.SIGCHLD}
	for _, s := range []os.Signal{syscall.SIGTERM, syscall.SIGINT, syscall.SIGHUP, syscall.SIGQUIT, syscall.SIGUSR1,
		syscall.SIGUSR2, syscall.SIGTSTP} {
		if !signal.Ignored(s) {
			all = append(all, s)
		}
	}
	if j.DumpSignal != 0 {
		all = append(all, j.DumpSignal)
	}
	return all
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
			j.wanted(hang.Trigger{Kind: hang.ParentEnded}, j.endLimited)
		case <-tick.C:
			j.tick()
		case <-j.captured:
			j.afterCapture()
		case left := <-j.ending:
			return j.finish(left)
		}
		tick.Reset(j.watch.Next(time.Now()))
	}
}

// tick is what is done once a second.
func (j *job) tick() {
	j.orphans.Reap()
	if j.WithParent {
		j.ends.Check(time.Now(), j.orphans.Below)
	}
	if !j.shared {
		j.lend()
	}
	j.checkStop()
	if j.captured != nil || j.ending != nil {
		j.watch.Skip(time.Now())
		return
	}
	switch t, reached := j.watch.Check(time.Now()); {
	case !reached:
	case t.Kind == hang.Warned:
		j.capture(t, 0, nil)
	default:
		j.capture(t, 0, j.endLimited)
	}
}

// capture begins a capture, which may take so long (0: as long as it takes), and does next when it is over.
func (j *job) capture(t hang.Trigger, most time.Duration, next func()) {
	ctx, cancel := context.WithCancel(context.Background())
	if most > 0 {
		ctx, cancel = context.WithTimeout(context.Background(), most)
	}
	done := make(chan struct{})
	j.captured, j.cancel, j.next = done, cancel, next
	j.ends.Ended(time.Now())
	tree := Tree{j.command.PID(), j.began, j.orphans.Below, j.ends.Killed()}
	go func() {
		defer close(done)
		defer cancel()
		j.harmed = j.to.Capture(ctx, t, tree)
	}()
}

func (j *job) afterCapture() {
	next := j.next
	j.captured, j.next = nil, nil
	j.checkStop()
	if next != nil {
		next()
	}
}

// endLimited ends the tree for a limit, or as nobody is there any more who waits for it.
func (j *job) endLimited() {
	j.limited = true
	j.endFor()
}

// endFor ends the tree. Its end shows up in ending.
func (j *job) endFor() {
	if j.ending != nil {
		return
	}
	j.ending = make(chan []int, 1)
	go func() { j.ending <- j.orphans.End(j.command, j.Patience, j.hurry) }()
}
