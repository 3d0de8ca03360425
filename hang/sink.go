package hang

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// rank orders what threads do that wait for nobody: what is most likely the cause comes first.
type rank int

// The ranks.
const (
	rankLost      rank = iota // waits for a lock that nobody can unlock
	rankBusy                  // runs in one place all the time
	rankStill                 // is stopped
	rankOwn                   // waits for the end of what it keeps open itself
	rankHolder                // holds a lock that others wait for
	rankFiberLock             // fibers wait for a lock, and none runs
	rankDisk                  // an uninterruptible sleep
	rankToken                 // waits for a token of make's jobserver
	rankLocked                // tries again and again, with a file open that another process has locked
	rankOutside               // waits for the outside
	rankQuestion              // reads standard input or a terminal
	rankTime                  // sleeps
	rankLoop                  // an event loop with nothing due
	rankFibers                // all goroutines wait
	rankBlocked               // waits for nobody that is known
	rankWork                  // waits for work or for a connection: a server does so by right
	rankNothing               // nothing is known
)

// sink is a thread that waits for nobody in the case.
type sink struct {
	*node
	rank rank
	// does says what it does: "reads from TCP 10.0.0.1:80". "" if the chain to it says all.
	does string
	kind Kind
}

// sink says what n, which waits for nobody in the case, does.
func (j *judging) sink(n *node) sink {
	s := sink{node: n, rank: rankNothing, kind: Unknown}
	w := j.waiting[n.tid]
	state, class := j.states[n.tid], j.classOf(n.tid)
	switch {
	case w != nil && w.Lost != 0:
		s.rank, s.kind, s.does = rankLost, Waiting, j.lost(w)
	case state == "T" || state == "t" || class == Still:
		s.rank, s.kind, s.does = rankStill, Halted, j.still(n, w)
	case !j.tree[n.pid] && (class == Spinning || class == Going):
		s.rank, s.kind, s.does = rankNothing, Moving, j.cpuOf(n.tid)
	case class == Spinning:
		s.rank, s.kind, s.does = j.busy(n)
	case class == Hungry:
		s.rank, s.kind, s.does = rankNothing, Starved, "waits for a CPU"
	case w == nil && !j.tree[n.pid] && state != "R" && class != Waking:
		s.rank, s.kind = rankOutside, Waiting
	case w == nil:
		s.rank, s.does = j.running(n)
	case w.Sort == profile.SortFuse:
		s.rank, s.kind, s.does = rankDisk, Waiting, j.fuse(n, w)
	case state == "D" && w.Sort != profile.SortVfork:
		s.rank, s.kind, s.does = rankDisk, Waiting, j.disk(n, w)
	case j.isToken(n.pid, w):
		s.rank, s.kind, s.does = rankToken, Waiting, j.token(n, w)
	default:
		j.sleeping(&s, w)
	}
	j.byRight(&s, w)
	j.idleInTransaction(&s)
	if s.rank > rankHolder && n.by != nil && n.by.Mode == profile.WaitOne && n.tid != 0 && !isEnd(n.by) &&
		s.kind == Waiting {
		s.rank = rankHolder
	}
	return s
}

// byRight takes from s the verdict of what waits as it should: for requests, jobs and signals.
func (j *judging) byRight(s *sink, w *profile.Wait) {
	switch {
	case w == nil || s.kind != Waiting && s.kind != Unknown:
	case s.rank >= rankBlocked && j.joinsOnly(s.node, w):
		s.rank, s.kind, s.does = rankWork, Unknown, "waits for its other threads to end"
	case s.rank == rankBlocked && j.of(s.pid).serves && j.of(s.pid).locking[s.tid] > 0:
		s.rank = rankHolder // requests wait for its lock, and none ends that
		n := j.of(s.pid).locking[s.tid]
		s.does = fmt.Sprintf("has a lock for which %s %s, and ", text.Count(n, "thread"), waitsOrWait(n)) + s.does
	case s.rank >= rankTime && s.rank < rankWork && (j.of(s.pid).serves || j.of(s.root().pid).serves) &&
		w.Sort != profile.SortPool && w.Sort != profile.SortUnbegun: // no request ends that
		s.rank, s.kind = rankWork, Unknown
		s.does = "waits for connections" + j.meanwhile(s.pid)
	case s.kind == Waiting && watches(w):
		s.rank, s.kind, s.does = rankWork, Unknown, "waits for a change of a file"
	case w.Sort == profile.SortSignal && s.rank == rankOutside && j.childServes(s.pid):
		s.rank, s.kind, s.does = rankWork, Unknown, "waits for a signal, as its children wait for connections"
	case s.kind == Waiting && s.rank >= rankOutside && j.givesUp(s.tid, w):
		s.kind = Unknown
	case s.kind == Waiting && s.rank >= rankLoop && j.hasTimer(s.pid, w):
		s.kind = Unknown
		s.does += ", which a timer of its own may end"
	case !j.tree[s.pid] && s.from != nil: // whom somebody waits for: what ends that is no right of its own
	case s.kind == Waiting && w.Alarm && s.rank > rankStill && s.rank != rankHolder:
		s.kind = Unknown
		s.does += ", which a timer of its own may end"
	case s.kind == Waiting && j.waitsForSignals(s.node, w):
		s.rank, s.kind, s.does = rankWork, Unknown, "waits for a signal: "+signals(w.Handled)
	}
}

// meanwhile is what else must be known of process pid, which waits for connections.
func (j *judging) meanwhile(pid int) string {
	words := j.besideLocks(pid) + j.requested(pid)
	if owing := j.of(pid).owing; len(owing) > 0 {
		tid := owing[0]
		words += fmt.Sprintf("; %s, for whose result others wait, %s", j.thread(tid, pid),
			j.blocked(&node{pid: pid, tid: tid}, j.waiting[tid]))
	}
	return words
}

// givesUp reports whether w ends by itself before long, and is none of many that did so before: between the moments its
// thread did nothing, or no more than to begin it.
func (j *judging) givesUp(tid int, w *profile.Wait) bool {
	if !w.Timed || w.Left <= 0 || w.Left >= longSleep {
		return false
	}
	did := j.c.did(tid)
	class := j.classOf(tid)
	return class == Blocked || class == Waking && w.Left > did.wall && did.voluntary <= once
}

// hasTimer reports whether a timer of process pid, a thread of which waits for w, may bring what it waits for.
func (j *judging) hasTimer(pid int, w *profile.Wait) bool {
	of := j.of(pid)
	switch {
	case w.Sort == profile.SortTask:
		return of.timers && !of.timed
	case len(of.leaves) > 0 && !of.leaves[0].IsAsync() && of.timed:
		return false
	case w.Mode == profile.WaitIdle:
		return len(of.fibers) == 0 && of.timers
	}
	return hasTimer(w)
}

// watches reports whether w waits for files to change.
func watches(w *profile.Wait) bool {
	return w.Sort == profile.SortWatch || slices.ContainsFunc(w.Set, func(p profile.WaitPart) bool {
		return p.Sort == profile.SortWatch
	})
}

// asked are signals by which somebody asks a program for something: HUP, USR1, USR2, TERM. That of Ctrl-C, which
// runtimes take by themselves, is none.
const asked = 1<<0 | 1<<9 | 1<<11 | 1<<14 // of signal n bit n-1

// signals names those of a mask.
func signals(mask uint64) string {
	names := map[int]string{1: "SIGHUP", 10: "SIGUSR1", 12: "SIGUSR2", 15: "SIGTERM"}
	var out []string
	for n := 1; n <= 31; n++ {
		if mask>>(n-1)&1 != 0 {
			out = append(out, cmp.Or(names[n], fmt.Sprintf("signal %d", n)))
		}
	}
	return strings.Join(out, ", ")
}

// waitsForSignals reports whether a handler of a signal is what ends the wait of n: it waits for nothing but signals,
// or at descriptors to which nobody else can write.
func (j *judging) waitsForSignals(n *node, w *profile.Wait) bool {
	if w.Sort == profile.SortSignal {
		return w.Handled != 0
	}
	if w.Handled&asked == 0 {
		return false
	}
	if t := j.sampled[n.tid]; t != nil && t.Loop != nil {
		return false // its runtime has handlers of its own
	}
	if len(w.Set) > 0 {
		return !slices.ContainsFunc(w.Set, func(p profile.WaitPart) bool { return !p.Own })
	}
	return w.Sort == profile.SortPipeData && onlyItself(w, n.pid)
}

// cpuOf says how much CPU a thread had that nothing more is known of.
func (j *judging) cpuOf(tid int) string {
	did := j.c.did(tid)
	return "uses " + percent(did.share(did.cpu))
}

// sleeping says what a thread does that sleeps for nobody in the case.
func (j *judging) sleeping(s *sink, w *profile.Wait) {
	n := s.node
	t := j.sampled[n.tid]
	if file, ok := j.lockedOut(n); ok && w.Mode == profile.WaitTime {
		s.rank, s.kind, s.does = rankLocked, Waiting, "tries again and again, with "+file
		return
	}
	switch {
	case isInput(w, t) && j.tree[n.pid]:
		s.rank, s.kind, s.does = rankQuestion, Waiting, j.question(n, w)
	case w.Sort == profile.SortPipeData && onlyItself(w, n.pid):
		s.rank, s.kind = rankOwn, Waiting
		s.does = "reads a pipe that only it can write to"
	case w.Sort == profile.SortPipeRoom && onlyItself(w, n.pid):
		s.rank, s.kind, s.does = rankOwn, Waiting, "writes to a full pipe that only it can read"
	case t != nil && t.Loop != nil:
		s.rank, s.kind, s.does = j.loop(n, t.Loop)
		if s.rank == rankLoop && !isKept(t.Loop) {
			s.rank = rankBlocked // others of its threads may bring something: what they wait for says more
		}
	case w.Sort == profile.SortTask:
		j.task(s, w)
	case j.drives(n.pid, n.tid) && j.of(n.pid).serves:
		s.rank, s.does = rankWork, "waits for connections"
	case j.drives(n.pid, n.tid):
		j.task(s, w)
	case len(j.blamed(n.pid, n.tid)) > 0:
		all := j.blamed(n.pid, n.tid)
		s.rank, s.kind, s.does = rankFibers, Waiting, j.fibers(n.pid, all)
		if all[0].Wait == profile.FiberLock {
			s.rank = rankFiberLock
		}
	case w.Listens:
		s.rank, s.does = rankWork, "waits for connections"+j.meanwhile(n.pid)
	case w.Mode == profile.WaitIdle && n.from != nil && j.tree[n.pid] && len(j.of(n.pid).parked) > 0:
		s.rank, s.kind, s.does = rankFibers, Waiting, j.waitingFibers(n.pid, j.of(n.pid).parked, "")
	case w.Mode == profile.WaitIdle && n.from != nil && j.tree[n.pid]:
		s.rank, s.kind, s.does = rankFibers, Waiting, "runs nothing: its runtime keeps all of its threads for work"
	case w.Mode == profile.WaitIdle:
		s.rank, s.does = rankWork, "waits for work"
	case w.Sort == profile.SortSocketData && !w.Made && !j.tree[n.pid]:
		s.rank, s.kind, s.does = rankOutside, Waiting, "waits for requests"
	case w.Mode == profile.WaitOutside && (w.Sort == profile.SortSocketData || w.Sort == profile.SortSocketRoom):
		s.rank, s.kind, s.does = rankOutside, Waiting, socketVerb(w)+socketName(w)+", and gets no answer"
	case w.Mode == profile.WaitTime && j.of(n.pid).pooled && j.keepsAlive(n):
		s.rank, s.does = rankWork, j.asleep(n, w)
	case w.Mode == profile.WaitTime:
		s.rank, s.kind, s.does = rankTime, j.sleepKind(n.tid, w), j.asleep(n, w)
	case w.Mode == profile.WaitOutside:
		s.rank, s.kind, s.does = rankOutside, Waiting, briefly(w)
	default:
		s.rank, s.kind, s.does = rankBlocked, j.blockedKind(n), j.blocked(n, w)
		if words := j.tasksSleep(n.pid, n.tid, w); words != "" {
			s.kind, s.does = j.sleepKind(n.tid, w), words
		}
	}
	if !j.tree[n.pid] {
		j.unanswered(s, w)
	}
}

// unanswered says of s, outside of the tree, whether who asked it for something hangs: it has not answered, and does
// nothing for it. Who asks for work, from no function of the user's own, waits for that by right.
func (j *judging) unanswered(s *sink, w *profile.Wait) {
	s.rank = max(rankOutside, s.rank)
	if s.from == nil || s.rank < rankWork || w.Timed && !w.Listens {
		return
	}
	t := j.sampled[s.from.tid]
	if t != nil && made(&t.Stack) && ownFrame(j.of(s.from.pid).dump, &t.Stack) == nil {
		return
	}
	if j.tree[s.from.pid] || s.from.by != nil {
		s.rank, s.kind = rankOutside, Waiting
	}
}

// onlyItself reports whether nobody but process pid can end w.
func onlyItself(w *profile.Wait, pid int) bool {
	return len(w.Wakers) > 0 && !slices.ContainsFunc(w.Wakers, func(to profile.Waker) bool { return to.PID != pid })
}

// servesBy reports whether a thread waits for somebody to connect: then others of its process may wait for that too.
func (j *judging) servesBy(tid int) bool {
	w := j.waiting[tid]
	return w != nil && w.Listens
}

// childServes reports whether a child of process pid waits for somebody to connect: the first process of such a server
// only waits for signals.
func (j *judging) childServes(pid int) bool {
	return slices.ContainsFunc(j.c.Processes, func(p Process) bool { return p.Parent == pid && j.of(p.PID).serves })
}

// lost says which lock nobody can unlock.
func (j *judging) lost(w *profile.Wait) string {
	if w.Forked {
		return fmt.Sprintf("is blocked in %s; owner thread %d does not exist here: lock inherited over fork", object(w),
			w.Lost)
	}
	return fmt.Sprintf("waits for %s held by thread %d, which has exited", object(w), w.Lost)
}

// still says by what a thread is stopped.
func (j *judging) still(n *node, w *profile.Wait) string {
	if j.states[n.tid] != "t" {
		return "is stopped by a signal (SIGSTOP or the terminal)"
	}
	if w != nil && len(w.Wakers) == 1 {
		return "is stopped by its tracer " + j.process(w.Wakers[0].PID)
	}
	return "is stopped by its tracer"
}

// running says what a thread is seen to do that waits for nothing.
func (j *judging) running(n *node) (rank, string) {
	switch state := j.states[n.tid]; {
	case state == "Z":
		return rankNothing, "has ended, and its parent has not waited for it"
	case state == "R" && !j.tree[n.pid]:
		return rankNothing, "runs"
	case j.tree[n.pid] && j.of(n.pid).dump == nil:
		return rankNothing, j.unsampled(n.pid)
	}
	return rankNothing, ""
}

// unsampled says of a process that could not be sampled what is seen without that.
func (j *judging) unsampled(pid int) string {
	if p := j.processes[pid]; p != nil && p.State != "" {
		return "could not be sampled; its state is " + text.Escape(p.State)
	}
	return "could not be sampled"
}

// fuse says what a wait for a FUSE file system waits for.
func (j *judging) fuse(n *node, w *profile.Wait) string {
	where := ""
	if t := j.sampled[n.tid]; t != nil && t.Wchan != "" {
		where = "in " + text.Escape(t.Wchan) + " "
	}
	words := "waits " + where + "for an answer of a FUSE file system"
	if w.Name != "" {
		words += " (" + text.Escape(w.Name) + ")"
	}
	if p := j.processes[n.pid]; p != nil && p.Fuse {
		words += "; /dev/fuse is open in the same process"
	}
	return words
}

// disk says what an uninterruptible sleep waits for.
func (j *judging) disk(n *node, w *profile.Wait) string {
	words := "is in an uninterruptible sleep (D)"
	if t := j.sampled[n.tid]; t != nil && t.Wchan != "" {
		words += " in " + text.Escape(t.Wchan)
	}
	if w.Text != "" {
		words += ": " + briefly(w)
	}
	return words
}

// token says who else has the pipe of the jobserver.
func (j *judging) token(n *node, w *profile.Wait) string {
	words := "waits for a token of make's jobserver"
	if !j.hasChild(n.pid) {
		words = "has no child and " + words
	}
	var others []string
	for _, to := range w.Wakers {
		if p := j.processes[to.PID]; to.PID != n.pid && !j.tree[to.PID] || p != nil && p.Name != "make" {
			others = append(others, j.process(to.PID))
		}
	}
	if len(others) > 0 {
		words += "; also open in " + strings.Join(others[:min(3, len(others))], ", ")
	}
	return words
}

func (j *judging) hasChild(pid int) bool {
	return slices.ContainsFunc(j.c.Processes, func(p Process) bool { return p.Parent == pid })
}

// lockedOut finds an open file of a process that another has locked.
func (j *judging) lockedOut(n *node) (string, bool) {
	p := j.processes[n.pid]
	if p == nil || len(p.LockedFiles) == 0 {
		return "", false
	}
	f := &p.LockedFiles[0]
	return fmt.Sprintf("lock %s held by %s%s", text.Escape(f.Path), j.process(f.Holder), j.about(f.Holder, n.pid)), true
}

// isInput reports whether w waits at standard input, or at a terminal.
func isInput(w *profile.Wait, t *profile.Thread) bool {
	if w == nil {
		return false
	}
	if w.Sort == profile.SortTerminalInput {
		return true
	}
	return w.Sort == profile.SortPipeData && t != nil && t.Syscall != nil && t.Syscall.Name == "read" &&
		len(t.Syscall.Args) > 0 && t.Syscall.Args[0].Value == 0
}

// question says what is read from a person, and what was written last.
func (j *judging) question(n *node, w *profile.Wait) string {
	words := "reads standard input, which is "
	if w.Sort == profile.SortTerminalInput {
		words += "a terminal"
	} else {
		words += "an open pipe"
		if len(w.Wakers) > 0 {
			words += " of " + j.process(w.Wakers[0].PID)
		}
	}
	if p := j.processes[n.pid]; p != nil && p.LastOutput != "" {
		words += "; last output " + text.Quote(p.LastOutput)
	}
	return words
}
