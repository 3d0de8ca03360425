package hang

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// A program of tasks hangs though each of its threads waits for work by right: what a task waits for says why, and who
// has that. Where those wait for each other, each by what it was seen to have, none can go on.

// executors are the functions in which threads wait that run tasks and coroutines of others, by how their names begin.
var executors = []string{"tokio::runtime::", "boost::asio::detail::", "asio::detail::"}

// drives reports whether a thread waits in an executor of tasks: for these to go on, in none of the user's functions.
func (j *judging) drives(pid, tid int) bool {
	of, t := j.of(pid), j.sampled[tid]
	if t == nil || !of.tasks && len(of.leaves) == 0 {
		return false
	}
	for i := range t.Stack.Frames {
		f := &t.Stack.Frames[i]
		if slices.ContainsFunc(executors, func(name string) bool { return strings.HasPrefix(f.Func, name) }) {
			return true
		}
		if isOwn(of.dump, f) {
			return false
		}
	}
	return false
}

// blockers are those of fibers, by their ids, of which each alone keeps f from going on while it does not: proven. A
// permit of a semaphore anybody may give, and a channel may have more senders: of those none is.
func blockers(f *profile.Fiber, all *fibersByID) []*profile.Fiber {
	if !f.Awaits() || f.Timed || f.Object == 0 {
		return nil
	}
	var out []*profile.Fiber
	switch f.Wait {
	case profile.FiberLock, profile.FiberSend, profile.FiberFuture:
		for _, id := range f.HeldBy {
			if by := all.at[id]; by != nil {
				out = append(out, by)
			}
		}
	}
	if f.Wait == profile.FiberFuture && len(out) == 0 && len(all.awaits[f.ID]) == 1 {
		return all.awaits[f.ID]
	}
	return out
}

// fibersByID finds those of a dump.
type fibersByID struct {
	at     map[uint64]*profile.Fiber
	awaits map[uint64][]*profile.Fiber // whose end each waits for
}

func byID(d *profile.Dump) *fibersByID {
	all := &fibersByID{map[uint64]*profile.Fiber{}, map[uint64][]*profile.Fiber{}}
	for i := range d.Fibers {
		f := &d.Fibers[i]
		all.at[f.ID] = f
		for _, id := range f.AwaitedBy {
			all.awaits[id] = append(all.awaits[id], f)
		}
	}
	return all
}

// taskCycle are tasks of a dump that wait for each other, the first that is found: each for what the next has, and the
// last for what the first has. nil if none do.
func taskCycle(d *profile.Dump) []*profile.Fiber {
	all := byID(d)
	state := map[uint64]int{} // 1 on the path, 2 done
	var path []*profile.Fiber
	var visit func(f *profile.Fiber) []*profile.Fiber
	visit = func(f *profile.Fiber) []*profile.Fiber {
		if state[f.ID] != 0 || len(path) == maxTaskPath {
			return nil
		}
		state[f.ID], path = 1, append(path, f)
		for _, by := range blockers(f, all) {
			if state[by.ID] == 1 {
				return path[slices.Index(path, by):]
			}
			if cycle := visit(by); cycle != nil {
				return cycle
			}
		}
		state[f.ID], path = 2, path[:len(path)-1]
		return nil
	}
	for i := range d.Fibers {
		if cycle := visit(&d.Fibers[i]); cycle != nil {
			return slices.Clone(cycle)
		}
	}
	return nil
}

// maxTaskPath bounds how many tasks are followed that wait one for the other.
const maxTaskPath = 10_000

// stands reports whether a cycle of tasks was there at each moment: each of them waited for the same thing.
func (j *judging) stands(pid int, cycle []*profile.Fiber) bool {
	for _, m := range j.c.Moments {
		for _, d := range m.Dumps {
			if d.Process.PID != pid {
				continue
			}
			then := byID(d)
			for _, f := range cycle {
				was := then.at[f.ID]
				if was == nil || was.Object != f.Object || was.Wait != f.Wait || len(blockers(was, then)) == 0 {
					return false
				}
			}
		}
	}
	return true
}

// taskDeadlock is the verdict on tasks that wait for each other, nil if none are known to.
func (j *judging) taskDeadlock() *Verdict {
	for _, d := range j.dumps {
		pid := d.Process.PID
		cycle := taskCycle(d)
		if !j.tree[pid] || len(cycle) == 0 || !j.stands(pid, cycle) {
			continue
		}
		words := fmt.Sprintf("%s wait for each other", text.Count(len(cycle), cycle[0].Kind))
		if len(cycle) == 1 {
			words = fiberName(cycle[0]) + " waits for itself"
		}
		v := &Verdict{Kind: Deadlock, Sentence: j.path(pid) + ": deadlock: " + words}
		v.Culprit = j.culprit(pid, pid)
		var places []string
		for i, f := range cycle[:min(mostLines, len(cycle))] {
			line := fmt.Sprintf("%s [%s]", fiberName(f), text.Escape(f.State))
			if _, frame := culpritFiber(d, cycle[i:i+1]); frame != nil {
				places = append(places, place(frame))
				line += " in " + place(frame)
				if len(places) == 1 {
					v.Culprit.Fiber, v.Culprit.Frame = f, frame
				}
			}
			v.Because = append(v.Because, line)
		}
		if len(places) > 0 {
			v.Sentence = fit(v.Sentence, ", in "+strings.Join(places[:min(2, len(places))], " and "))
		}
		return v
	}
	return nil
}
