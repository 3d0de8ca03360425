package hang

import "github.com/fpstack/fpstack/profile"

// woken gives threads that the last moment met as they woke from a sleep the sleep that they were in before: one that
// sleeps again and again is ready for longer than it runs where the machine has no CPU for it.
func (j *judging) woken() {
	for i := range j.threads {
		t := &j.threads[i]
		did := j.c.did(t.TID)
		if j.waiting[t.TID] != nil || j.states[t.TID] != "R" || t.Class != Waking && t.Class != Going ||
			did.share(did.cpu) >= smallCPU {
			continue
		}
		if w := j.sleptIn(threadID{t.PID, t.TID}); w != nil {
			j.waiting[t.TID] = w
		}
	}
}

// sleptIn is the sleep of the moment before the last, nil where the thread was in none: of one that ends by itself,
// without what was left of it.
func (j *judging) sleptIn(id threadID) *profile.Wait {
	n := len(j.samples)
	if n < 2 {
		return nil
	}
	before := j.samples[n-2][id]
	if before == nil || before.Wait == nil || before.Wait.Mode != profile.WaitTime {
		return nil
	}
	w := *before.Wait
	w.Left = 0
	return &w
}
