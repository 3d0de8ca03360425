package hang

import (
	"fmt"
	"slices"

	"github.com/fpstack/fpstack/profile"
)

const (
	// tightDepth and tightPaths bound what a loop calls: below the function that all samples share there are at most so
	// many functions, in so many combinations. Work that goes on calls more.
	tightDepth = 3
	tightPaths = 6
	// mostKernel is the share of a CPU up to which a thread counts as one that makes no system calls: what interrupts
	// take counts as its own.
	mostKernel = 0.02
)

// busy says where a thread runs all the time: a loop is a function that all samples share, with little below it.
func (j *judging) busy(n *node) (rank, Kind, string) {
	of := j.of(n.pid)
	stacks := j.stacks(n.pid, n.tid)
	where, tight := loopOf(stacks)
	who := "spins"
	if len(of.spin) > 1 {
		who = fmt.Sprintf("has %d threads that spin", len(of.spin))
	}
	words := who
	if where != nil {
		words += " in " + place(where)
		if caller := callerOf(stacks[len(stacks)-1], where); isOwn(of.dump, caller) {
			words += ", called by " + place(caller)
		}
	}
	words += ", " + of.share
	if did := j.c.did(n.tid); did.share(did.system) < mostKernel {
		words += ", never in a system call"
	}
	if !tight {
		return rankNothing, Moving, fmt.Sprintf("runs all the time, with %d different stacks in %d samples",
			len(paths(stacks, 0)), len(stacks))
	}
	return rankBusy, Busy, words
}

// spinShare says how much CPU each of those threads had or wanted.
func (j *judging) spinShare(tids []int) string {
	var wanted, had float64
	for _, tid := range tids {
		did := j.c.did(tid)
		wanted += did.share(did.cpu+did.delay) * 100 / float64(len(tids))
		had += did.share(did.cpu) * 100 / float64(len(tids))
	}
	each := ""
	if len(tids) > 1 {
		each = " each"
	}
	if wanted-had > 10 {
		return fmt.Sprintf("%.0f %% of a CPU%s and ready for one %.0f %% of the time", had, each, min(100, wanted)-had)
	}
	return fmt.Sprintf("%.0f %% of a CPU%s", min(100, had), each)
}

// stacks are all of a thread, those of the moments and those taken closely.
func (j *judging) stacks(pid, tid int) (stacks []*profile.Stack) {
	for _, moment := range j.samples {
		if t := moment[threadID{pid, tid}]; t != nil && len(t.Stack.Frames) > 0 {
			stacks = append(stacks, &t.Stack)
		}
	}
	for i := range j.c.Close {
		if s := &j.c.Close[i]; s.PID == pid && s.TID == tid {
			for k := range s.Stacks {
				if len(s.Stacks[k].Frames) > 0 {
					stacks = append(stacks, &s.Stacks[k])
				}
			}
		}
	}
	return stacks
}

// loopOf is the innermost frame that all stacks share, counted from the outermost, as it is in the last of them; nil
// if they share none. tight says that little is called below it.
func loopOf(stacks []*profile.Stack) (where *profile.Frame, tight bool) {
	if len(stacks) == 0 {
		return nil, false
	}
	last := functions(stacks[len(stacks)-1])
	common := len(last)
	deepest := 0
	for _, s := range stacks {
		f := functions(s)
		deepest = max(deepest, len(f))
		common = min(common, len(f))
		for k := range common {
			if f[k].Func != last[k].Func || f[k].Func == "" && f[k].Addr != last[k].Addr {
				common = k
				break
			}
		}
	}
	if common == 0 {
		return nil, false
	}
	return last[common-1], deepest-common <= tightDepth && len(paths(stacks, common)) <= tightPaths
}

// callerOf is the function that called that of frame f in a stack; an empty one if it is the outermost.
func callerOf(s *profile.Stack, f *profile.Frame) *profile.Frame {
	all := functions(s)
	if i := slices.Index(all, f); i > 0 {
		return all[i-1]
	}
	return &profile.Frame{}
}

// functions are the frames of a stack that are functions by themselves, outermost first: which calls were inlined
// depends on the instruction. Where a language runs they are its functions alone.
func functions(s *profile.Stack) []*profile.Frame {
	made := slices.ContainsFunc(s.Frames, func(f profile.Frame) bool { return f.Kind.Made() })
	var out []*profile.Frame
	for i := range s.Frames {
		if f := &s.Frames[i]; f.Kind.Made() == made && !f.Inlined && !f.Waits() && !f.Stub {
			out = append(out, f)
		}
	}
	slices.Reverse(out)
	return out
}

// paths are the different lists of functions below the outermost skip ones.
func paths(stacks []*profile.Stack, skip int) map[string]bool {
	all := map[string]bool{}
	for _, s := range stacks {
		f := functions(s)
		key := ""
		for _, frame := range f[min(skip, len(f)):] {
			key += fmt.Sprintf("%q ", frame.Func)
		}
		all[key] = true
	}
	return all
}
