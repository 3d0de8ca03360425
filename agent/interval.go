package agent

import (
	"context"
	"maps"
	"slices"
	"time"

	"github.com/fpstack/fpstack/procfs"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/push/perprocess"
)

// boundary is the end of an interval that began at last: where the wall clock, as it is now, shows a multiple of every,
// at least half of that from last, so that a clock that is set, or slewed, makes no interval shorter than half and none
// longer than one and a half. Where that has passed already, as what went before took so long, it is the next one. What
// it returns has the reading of the monotonic clock that now has: a clock that is set meanwhile moves nothing.
func boundary(last, now time.Time, every time.Duration) time.Time {
	from := now.Add(last.Sub(now)) // last, by the wall clock that now has
	wall := from.Round(0)
	left := wall.Truncate(every).Add(every).Sub(wall)
	if left < every/2 {
		left += every
	}
	end := from.Add(left)
	for !end.After(now) {
		end = end.Add(every)
	}
	return end
}

// cutAtIntervals takes what was recorded at each end of an interval, and at the end of ctx.
func (a *Agent) cutAtIntervals(ctx context.Context) {
	end := time.Now()
	for ctx.Err() == nil {
		end = boundary(end, time.Now(), a.opt.Interval)
		p, err := a.opt.Recorder.TakeAt(ctx, end)
		if now := time.Now(); end.After(now) { // it failed
			end = now
		}
		if err == nil {
			err = a.deliver(p)
		}
		a.mu.Lock()
		a.trouble = err
		a.lastTake = time.Now()
		a.intervals++
		a.measure()
		a.mu.Unlock()
		if err != nil {
			a.opt.Say("a profile was not made: " + err.Error())
		}
	}
}

// deliver gives one interval to the stores, without those profiles that could not be made, which its error says.
func (a *Agent) deliver(p *profile.Profile) error {
	from := p.Start.Round(0)
	to := from.Add(p.Duration)
	a.renewAll()
	parts, err := a.opt.Parts(p, a.identity)
	for _, s := range a.opt.Stores {
		s.Put(parts, from, to)
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	for process, t := range a.ended {
		if t.intervals++; t.intervals > 1 {
			delete(a.ended, process)
		}
	}
	return err
}

// identity is who a process of the last interval is, or was.
func (a *Agent) identity(process procfs.Identity) perprocess.Identity {
	a.mu.Lock()
	defer a.mu.Unlock()
	if t := a.targets[process.PID]; t != nil && t.Start == process.Start {
		return t.who
	}
	if t := a.ended[process]; t != nil {
		return t.who
	}
	return perprocess.Identity{} // by the name of the thread then
}

// renewAll reads again who those are that began another program since they were looked for.
func (a *Agent) renewAll() {
	a.mu.Lock()
	targets := slices.Collect(maps.Values(a.targets))
	a.mu.Unlock()
	for _, t := range targets { // whose Chosen is changed by scans
		a.mu.Lock()
		c := t.Chosen
		a.mu.Unlock()
		if start, runs, lives := a.opt.Look(c.PID); lives && start == c.Start && runs != c.Program {
			c.Program = runs
			a.renew(t, &c)
		}
	}
}

// measure takes what this program used since the last interval ended.
func (a *Agent) measure() {
	cpu, _ := a.opt.Usage()
	now := time.Now()
	if passed := now.Sub(a.window.at); passed >= a.opt.Interval/2 {
		a.share = float64(cpu-a.window.cpu) / float64(passed)
		a.window = usage{now, cpu}
	}
}
