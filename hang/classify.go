package hang

import (
	"fmt"
	"time"

	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/text"
)

// Bounds of the classes, as shares of the time between the moments.
const (
	spins   = 0.90 // CPU and run delay together
	wakes   = 0.02 // CPU of a thread that only wakes now and then
	hungers = 4    // times as much delay as CPU
)

// Classify says of each thread of c what it did between the first moment and the last, in the order of the last; those
// that are gone come behind.
func Classify(c *Case) []Judged {
	return classifyBy(c, c.samples())
}

// classifyBy is Classify with what was sampled ordered by thread.
func classifyBy(c *Case, samples byThread) []Judged {
	if len(c.Moments) == 0 {
		return nil
	}
	var all []Judged
	last := &c.Moments[len(c.Moments)-1]
	seen := map[int]bool{}
	for _, d := range last.Dumps {
		for i := range d.Threads {
			t := &d.Threads[i]
			seen[t.TID] = true
			all = append(all, classify(c, d.Process.PID, t, samples))
		}
	}
	for i := range c.Moments {
		for _, d := range c.Moments[i].Dumps {
			for j := range d.Threads {
				if t := &d.Threads[j]; !seen[t.TID] {
					seen[t.TID] = true
					all = append(all, Judged{PID: d.Process.PID, TID: t.TID, Class: Gone, Why: "ended meanwhile"})
				}
			}
		}
	}
	return all
}

// classify says what t, a thread of the last moment, did.
func classify(c *Case, pid int, t *profile.Thread, samples byThread) Judged {
	j := Judged{PID: pid, TID: t.TID}
	did := c.did(t.TID)
	j.CPU = did.cpu
	switch {
	case t.State == "T" || t.State == "t":
		j.Class, j.Why = Still, "is stopped"
	case did.wall == 0 && len(c.Moments) > 1:
		j.Class, j.Why = New, "began meanwhile"
	case did.wall == 0:
		j.Class, j.Why = Unseen, "was sampled once"
	case t.State == "D" && did.switches() == 0:
		j.Class, j.Why = InDisk, "an uninterruptible sleep for all of "+seconds(did.wall)
	case did.switches() == 0 && did.cpu == 0:
		j.Class, j.Why = Blocked, "did not run in "+seconds(did.wall)
	case did.share(did.cpu+did.delay) >= spins && did.voluntary == 0 && did.delay > hungers*did.cpu:
		j.Class, j.Why = Hungry, did.words()
	case did.share(did.cpu+did.delay) >= spins && did.voluntary == 0:
		j.Class, j.Why = Spinning, did.words()
	case did.share(did.cpu) < wakes && samples.alike(threadID{pid, t.TID}):
		j.Class, j.Why = Waking, did.words()
	case did.delay > hungers*did.cpu && did.share(did.delay) > 0.5:
		j.Class, j.Why = Hungry, did.words()
	default:
		j.Class, j.Why = Going, did.words()
	}
	return j
}

// span is what a thread did between the moments, our own stops left out.
type span struct {
	wall, cpu, delay      time.Duration
	system                time.Duration
	voluntary, preemptive uint64
	noDelay               bool
}

func (s *span) switches() uint64 { return s.voluntary + s.preemptive }

func (s *span) share(d time.Duration) float64 { return float64(d) / float64(s.wall) }

// words are the counters that a class rests on.
func (s *span) words() string {
	delay := fmt.Sprintf("%d ms ready without one", s.delay.Milliseconds())
	if s.noDelay {
		delay = "how long it was ready without one is not counted here"
	}
	return fmt.Sprintf("%d ms on a CPU in %s, %s, %s, %d preemptive", s.cpu.Milliseconds(), seconds(s.wall), delay,
		text.Count(s.voluntary, "voluntary switch"), s.preemptive)
}

func seconds(d time.Duration) string { return fmt.Sprintf("%.1f s", d.Seconds()) }

// did adds up what a thread did between the moments. wall is 0 for one that only one moment has.
func (c *Case) did(tid int) span { return c.since(1, tid) }

// since adds up what a thread did from the moment before moment first on.
func (c *Case) since(first, tid int) (all span) {
	for i := max(first, 1); i < len(c.Moments); i++ {
		from, ok := c.Moments[i-1].Counters[tid]
		to, also := c.Moments[i].Counters[tid]
		if !ok || !also || from.After.Time.IsZero() {
			continue
		}
		a, b := &from.After, &to.Before
		if a.Start != b.Start { // another thread
			all = span{}
			continue
		}
		all.wall += b.Time.Sub(a.Time)
		all.cpu += b.CPU - a.CPU
		all.delay += b.Delay - a.Delay
		all.system += b.System - a.System
		all.voluntary += b.Voluntary - a.Voluntary
		all.preemptive += b.Preemptive - a.Preemptive
		all.noDelay = all.noDelay || b.NoDelay
	}
	return all
}

// sameStack reports whether two samples of a thread have the same functions on the stack and are in the same call.
func sameStack(a, b *profile.Thread) bool {
	if (a.Syscall == nil) != (b.Syscall == nil) || a.Syscall != nil && a.Syscall.Number != b.Syscall.Number ||
		len(a.Stack.Frames) != len(b.Stack.Frames) {
		return false
	}
	for i := range a.Stack.Frames {
		if f, g := &a.Stack.Frames[i], &b.Stack.Frames[i]; f.Addr != g.Addr || f.Func != g.Func || f.Line != g.Line {
			return false
		}
	}
	return true
}
