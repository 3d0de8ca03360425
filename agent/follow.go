package agent

import (
	"context"
	"fmt"
	"slices"
	"time"

	"github.com/fpstack/fpstack/agent/choose"
	"github.com/fpstack/fpstack/push/perprocess"
)

// target is a process that is followed, or was.
type target struct {
	choose.Chosen     // as it was when who was read
	added         int // how many were before
	since         time.Time
	who           perprocess.Identity
	intervals     int // that ended since it did
	async         asyncCount
}

// refusal is why a process is not followed, until it is tried again.
type refusal struct {
	start uint64
	why   string
	again time.Time
}

// The reasons of ours to leave a process out; others come from Options.Refusal.
const (
	tooManyTargets = "more than --max-targets"
	tooManyThreads = "more than --max-threads"
	letGo          = "let go"
)

const (
	// scanEvery is how often processes are looked for, less often where that takes more than one in scanShare.
	scanEvery = time.Second
	scanShare = 500
	// retryEvery is when a process that was refused is tried again.
	retryEvery = time.Minute
	// briefly is how long one was followed that is not tried again at once.
	briefly = 5 * time.Second
)

// follow follows the processes that are chosen as they come and go, until ctx ends.
func (a *Agent) follow(ctx context.Context) {
	for {
		began := time.Now()
		choice := a.chooses()
		chosen, err := choice.Scan(began.Sub(a.begun))
		if err != nil {
			a.sayOnce(err.Error(), err.Error())
		} else {
			a.update(ctx, &choice, chosen, began)
		}
		timer := time.NewTimer(max(scanEvery, min(scanShare*time.Since(began), 10*scanEvery)))
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// update follows what is chosen now and nothing else, until ctx ends. One goroutine calls it.
func (a *Agent) update(ctx context.Context, by *Choice, chosen []choose.Chosen, now time.Time) {
	wanted := map[int]*choose.Chosen{}
	for i := range chosen {
		wanted[chosen[i].PID] = &chosen[i]
	}
	threads := a.drop(by, wanted, now)
	out := map[string]int{}
	for i := range chosen {
		if ctx.Err() != nil {
			return
		}
		c := &chosen[i]
		if why := a.admit(by, c, &threads, now); why != "" {
			if out[why]++; why != letGo { // that it has ended may not be seen yet
				a.sayOnce(why, fmt.Sprintf("process %d is not recorded: %s; how many there are is in the accounts",
					c.PID, why))
			}
		}
	}
	a.mu.Lock()
	defer a.mu.Unlock()
	a.leftOut = out
	for pid, r := range a.refused {
		if c := wanted[pid]; c == nil || c.Start != r.start {
			delete(a.refused, pid)
		}
	}
}

// drop lets go what is chosen no longer, what is too much, and forgets what has ended. It returns how many threads the
// others have.
func (a *Agent) drop(by *Choice, wanted map[int]*choose.Chosen, now time.Time) (threads int) {
	followed := map[int]int{} // threads by process
	for _, t := range a.opt.Follower.Counts().Targets {
		followed[t.PID] = t.Threads
		threads += t.Threads
	}
	for _, pid := range a.unwanted(by, wanted, followed, &threads, now) {
		a.opt.Follower.Remove(pid)
	}
	return threads
}

// unwanted forgets what is followed no longer, or is to be, and returns the ids of the latter.
func (a *Agent) unwanted(by *Choice, wanted map[int]*choose.Chosen, followed map[int]int, threads *int,
	now time.Time) (gone []int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	var left []int
	for pid, t := range a.targets {
		n, lives := followed[pid]
		c := wanted[pid]
		switch {
		case !lives:
			if c != nil && c.Start == t.Start && now.Sub(t.since) < briefly {
				a.refused[pid] = refusal{t.Start, letGo, now.Add(retryEvery)}
			}
			a.forget(pid)
		case c == nil || c.Start != t.Start:
			*threads -= n
			gone = append(gone, pid)
			a.forget(pid)
		default:
			left = append(left, pid)
		}
	}
	// The last come are the first to go.
	slices.SortFunc(left, func(x, y int) int { return a.targets[y].added - a.targets[x].added })
	for _, pid := range left {
		why := tooManyThreads
		if len(a.targets) > by.MaxTargets {
			why = tooManyTargets
		} else if *threads <= by.MaxThreads {
			break
		}
		*threads -= followed[pid]
		a.refused[pid] = refusal{a.targets[pid].Start, why, now.Add(retryEvery)}
		gone = append(gone, pid)
		a.forget(pid)
	}
	return gone
}

// forget keeps who pid was until its last profile is made.
func (a *Agent) forget(pid int) {
	t := a.targets[pid]
	a.ended[t.Identity] = t
	delete(a.targets, pid)
}

// admit follows a process, or says why it is left out.
func (a *Agent) admit(by *Choice, c *choose.Chosen, threads *int, now time.Time) (why string) {
	a.mu.Lock()
	known, follows := a.targets[c.PID]
	same := follows && known.Chosen == *c
	many := len(a.targets) >= by.MaxTargets
	before, refused := a.refused[c.PID]
	a.mu.Unlock()
	switch {
	case same:
		return ""
	case follows:
		a.renew(known, c)
		return ""
	case refused && before.start == c.Start && now.Before(before.again):
		return before.why
	case many:
		return tooManyTargets
	}
	n := a.opt.Threads(c.PID)
	if *threads+n > by.MaxThreads {
		return tooManyThreads
	}
	who := a.opt.Identify(c)
	if err := a.opt.Follower.Add(c.PID); err != nil {
		why := a.opt.Refusal(err)
		a.mu.Lock()
		defer a.mu.Unlock()
		if why != "" {
			a.refused[c.PID] = refusal{c.Start, why, now.Add(retryEvery)}
		}
		return why
	}
	if a.opt.Another(c) { // since it was chosen, and that may be the one that was added
		a.opt.Follower.Remove(c.PID)
		return ""
	}
	*threads += n
	a.mu.Lock()
	defer a.mu.Unlock()
	a.targets[c.PID] = &target{Chosen: *c, added: a.met, since: now, who: who}
	a.met++
	return ""
}

// renew reads again who a process is that runs another program now: a shell becomes what it was told to run. The
// profile of the interval is that of the program which it ends with.
func (a *Agent) renew(t *target, c *choose.Chosen) {
	who := a.opt.Identify(c)
	a.mu.Lock()
	defer a.mu.Unlock()
	if t.Program != c.Program {
		t.async = asyncCount{}
	}
	t.Chosen, t.who = *c, who
}

// maxSaid bounds what is said in all.
const maxSaid = 100

// sayOnce reports what of a kind was not reported before.
func (a *Agent) sayOnce(kind, line string) {
	a.mu.Lock()
	known := a.said[kind] || len(a.said) >= maxSaid
	if !known {
		a.said[kind] = true
	}
	a.mu.Unlock()
	if !known {
		a.opt.Say(line)
	}
}
