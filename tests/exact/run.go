//go:build linux && (amd64 || arm64)

package exact

import (
	"errors"
	"fmt"
	"runtime"
	"time"

	"golang.org/x/sys/unix"

	"github.com/fpstack/fpstack/unwind"
)

// Options says what a Run compares and when it ends.
type Options struct {
	Every  int           // compare each Every-th instruction; 0 is each
	Start  uint64        // first instruction to compare
	Marked bool          // let it run to where the program says so, and step from there: see skip.go
	Max    int           // end after so many points; 0 is at the program's end
	Limit  time.Duration // end so long after the first point; 0 is no limit
	Inject int           // send SIGUSR1 at each Inject-th instruction, once a handler is installed; 0 never
	Fixed  bool          // without address space randomisation
	NoVDSO bool          // hide the vDSO, whose clock is read again if a tick came meanwhile: stepped slowly, for ever
	Loaded bool          // begin at the program's entry, behind the dynamic linker; on amd64 alone
	Dir    string        // working directory; "" is the caller's
	Keep   int           // misses kept for each symbol and cause; 0 is 2
	// Tunables is the program's GLIBC_TUNABLES. With glibc.cpu.hwcaps=-AVX512VL and the like glibc
	// takes the functions that it would take on a CPU without; "The GNU C Library", Tunables.
	Tunables string
	// Blind walks from PC and SP alone, which is all that is known of a thread that sleeps and was
	// not stopped.
	Blind bool
	// TruthOnly walks nothing: points are counted, and the truth's own consistency is all
	// that is reported.
	TruthOnly bool
	// Below is a function whose points, and those in what it calls, are counted apart.
	Below string
	// Peer is a command that prints the stack of the process whose id is appended to it, as
	// `eu-stack -p`; PeerEvery says at which points it runs. See peer.go.
	Peer      []string
	PeerEvery int
}

// session is one Run.
type session struct {
	opt     Options
	free    bool // no thread is stepped yet
	report  Report
	threads map[int]*thread
	spaces  map[int]*space // by process id
	early   map[int]bool   // children that stopped before their parent reported them
	names   names
	leader  int
	peer    peer
	until   time.Time // zero before the first point, and for no limit
}

// thread is one stepped thread.
type thread struct {
	tid   int
	space *space
	truth *Truth
	regs  unix.PtraceRegs
	at    point
	in    instruction
	// delivered is the signal that the last step carried, 0 mostly.
	delivered unix.Signal
	stack     []byte // copy buffer
	chain     []uint64
	pending   []pendingMiss
	landing   []pendingMiss // misses in a jump that has not landed
	free      bool          // runs without steps until its mark; see skip.go
	// swallow counts the stops for signals that Run itself caused and that must not be
	// delivered, at most; see takeBack.
	swallow int
	//lint:ignore U1000 machines differ in whether they keep something
	machineState
}

// Run steps argv from its exec until it ends or Options.Max is reached. argv[0] is a path.
// An error says that the program could not be started or traced; what a program does is in
// the Report.
func Run(argv []string, opt Options) (Report, error) {
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	defer pinToOneCPU()()
	opt.Every, opt.Keep = max(opt.Every, 1), max(opt.Keep, 2*btoi(opt.Keep == 0))
	pid, err := start(argv, &opt)
	if err != nil {
		return Report{}, err
	}
	s := &session{opt: opt, free: opt.Marked, leader: pid, threads: map[int]*thread{}, spaces: map[int]*space{},
		early: map[int]bool{}, names: names{}}
	s.report = Report{ByCause: map[string]int{}, Stops: map[unwind.Stop]int{},
		Origins: map[unwind.Origin]int{}, perSite: map[string]int{}}
	defer s.kill()
	if err = s.add(pid, newSpace(pid), nil); err == nil {
		err = s.loop()
	}
	if errors.Is(err, errEnough) {
		s.report.Status, err = "enough", nil
	}
	s.flush()
	return s.report, err
}

func btoi(b bool) int {
	if b {
		return 1
	}
	return 0
}

// kill ends what is left and waits for it, so that a later Run meets none of it.
func (s *session) kill() {
	for _, sp := range s.spaces {
		_ = unix.Kill(sp.pid, unix.SIGKILL)
	}
	for len(s.threads) > 0 {
		tid, ws, err := wait(-1)
		if err != nil {
			return
		}
		if ws.Exited() || ws.Signaled() {
			delete(s.threads, tid)
		} else if ws.Stopped() {
			_ = ptrace(unix.PTRACE_CONT, tid, 0, 0)
		}
	}
}

// errEnough ends the loop when Options.Max or Options.Limit is reached.
var errEnough = errors.New("enough points")

// stop is one wait result.
type stop struct {
	tid    int
	status unix.WaitStatus
}

// loop handles what threads do, by turns: the kernel looks at them in the same order each time, so that the first one,
// where it goes on at once, would be all that it tells of.
func (s *session) loop() error {
	var stops []stop
	for len(s.threads) > 0 {
		tid, ws, err := wait(-1)
		if err != nil {
			return fmt.Errorf("wait: %w", err)
		}
		stops = append(stops[:0], stop{tid, ws})
		for len(s.threads) > 1 {
			tid, ws, ok := poll()
			if !ok {
				break
			}
			if s.threads[tid] == nil && ws.Stopped() { // its parent's event waits for it
				s.early[tid] = true
				continue
			}
			stops = append(stops, stop{tid, ws})
		}
		for _, stop := range stops {
			err := s.changed(stop.tid, stop.status)
			if err != nil && !errors.Is(err, unix.ESRCH) { // killed meanwhile: its end follows
				return err
			}
		}
	}
	return nil
}

// changed handles one wait result.
func (s *session) changed(tid int, ws unix.WaitStatus) error {
	t := s.threads[tid]
	switch {
	case ws.Exited(), ws.Signaled():
		if tid == s.leader {
			s.report.Status = fmt.Sprintf("exit %d", ws.ExitStatus())
			if ws.Signaled() {
				s.report.Status = fmt.Sprintf("killed by %v", ws.Signal())
			}
		}
		delete(s.threads, tid)
		return nil
	case t != nil && t.free && ws.TrapCause() <= 0:
		return s.ranFreely(t, ws.StopSignal())
	case t == nil: // a child before its parent's event
		s.early[tid] = true
		return nil
	case ws.StopSignal() != unix.SIGTRAP:
		if sig := ws.StopSignal(); t.swallow > 0 && (sig == unix.SIGSTOP || sig == unix.SIGCONT) {
			t.swallow--
			return s.resume(t, 0)
		}
		return s.resume(t, ws.StopSignal())
	case ws.TrapCause() > 0:
		return s.event(t, ws.TrapCause())
	}
	return s.stepped(t)
}

// event handles a ptrace event stop of t.
func (s *session) event(t *thread, event int) error {
	switch event {
	case unix.PTRACE_EVENT_EXEC:
		if t.tid != s.leader { // a child's new program is not ours to follow
			delete(s.threads, t.tid)
			return ptrace(unix.PTRACE_DETACH, t.tid, 0, 0)
		}
		return s.add(t.tid, newSpace(t.tid), nil)
	case unix.PTRACE_EVENT_CLONE, unix.PTRACE_EVENT_FORK, unix.PTRACE_EVENT_VFORK:
		child, err := eventMessage(t.tid)
		if err != nil {
			return fmt.Errorf("new child of %d: %w", t.tid, err)
		}
		if !s.early[child] {
			if _, err := waitFor(child); err != nil {
				return fmt.Errorf("wait for child %d: %w", child, err)
			}
		}
		delete(s.early, child)
		if event == unix.PTRACE_EVENT_FORK {
			if err := ptrace(unix.PTRACE_DETACH, child, 0, 0); err != nil {
				return fmt.Errorf("detach child %d: %w", child, err)
			}
			break
		}
		space, truth := t.space, (*Truth)(nil)
		if event == unix.PTRACE_EVENT_VFORK {
			truth = t.truth.clone()
		}
		if err := s.add(child, space, truth); err != nil {
			return err
		}
	}
	return s.resume(t, 0)
}
