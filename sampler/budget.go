package sampler

import (
	"cmp"
	"time"
)

const (
	// budgetWindow is over how long the cost is measured.
	budgetWindow = time.Second
	// firstWindow is for how long nothing is lowered: the beginning comes once.
	firstWindow = budgetWindow / 4
	// longestFirst is how long that may be where threads are so many that not all were sampled once by then.
	longestFirst = 5 * time.Second
	// maxHalvings bounds how far the rate goes down: to a 64th, where it is that of days to a 512th.
	maxHalvings, gentleHalvings = 6, 9
	// calmWindows must pass, with room for twice the cost, before the rate goes up again.
	calmWindows = 5
	// With less room, as most of the cost does not depend on the rate, it is tried after so many windows, and after
	// twice as many each time that it was too much, up to maxTryAfter.
	minTryAfter, maxTryAfter = 10, 320
	// roomy is which part of the limit the cost must be below for the rate to go up.
	roomy = 0.8
)

// budget lowers the rate when the recording costs more than it may.
type budget struct {
	limit    float64 // share, 0: none
	wanted   float64 // rate wanted
	most     int     // halvings, 0: maxHalvings
	halvings int
	calm     int
	tries    tries
	lowered  uint64
	begun    bool
	length   time.Duration // of a window
	// prolonged says that the first window went on until all threads were sampled once.
	prolonged bool
	at        time.Duration // begin of the window
	cpu       time.Duration // own CPU time then
	stopped   time.Duration // time threads had been stopped, of ran
	ran       time.Duration
}

// spent is what the recording has cost so far.
type spent struct {
	cpu          time.Duration // CPU time of this program
	stopped, ran time.Duration // threads were stopped, threads were seen running
	beginning    bool          // not all threads were sampled once
}

// excess is a window that cost too much.
type excess struct {
	cpu, stopped float64 // shares
	rate         float64 // from now on
}

// check closes a window if it is over. It returns the rate to go on with, and what was too
// much if it was lowered.
func (b *budget) check(now time.Duration, s spent) (rate float64, over *excess) {
	if b.limit <= 0 || b.wanted == 0 {
		return b.wanted, nil
	}
	if window := b.window(); now-b.at < window {
		return b.rate(), nil
	}
	if !b.begun && s.beginning && now-b.at < longestFirst {
		b.prolonged = true
		return b.rate(), nil
	}
	cpu := float64(s.cpu-b.cpu) / float64(now-b.at)
	stopped := 0.0
	if ran := s.ran - b.ran; ran > 0 {
		stopped = float64(s.stopped-b.stopped) / float64(ran)
	}
	first := !b.begun
	b.begun = true
	b.at, b.cpu, b.stopped, b.ran = now, s.cpu, s.stopped, s.ran
	worst := max(cpu, stopped)
	b.tries.note(worst > b.limit)
	switch {
	case first: // opening files and the first sample of every thread come once
	case worst > b.limit && b.halvings < b.deepest():
		b.halvings++
		if b.length > budgetWindow && worst > 4*b.limit { // long windows are few
			b.halvings = min(b.halvings+1, b.deepest())
		}
		b.lowered++
		b.calm = 0
		return b.rate(), &excess{cpu, stopped, b.rate()}
	case b.halvings > 0 && 2*worst < roomy*b.limit:
		if b.calm++; b.calm >= calmWindows {
			b.calm = 0
			b.halvings--
		}
	case b.halvings > 0 && worst < roomy*b.limit && b.tries.due():
		b.calm = 0
		b.halvings--
	default:
		b.calm = 0
	}
	return b.rate(), nil
}

// tries is when a higher rate is tried that may cost too much.
type tries struct {
	after int  // so many windows, 0: minTryAfter
	had   int  // that were not too much
	on    bool // one is under way
}

// note notes what became of a window.
func (t *tries) note(tooMuch bool) {
	switch {
	case tooMuch && t.on:
		t.after = min(2*max(t.after, minTryAfter), maxTryAfter)
	case tooMuch: // it costs more than it did
		t.after = minTryAfter
	}
	if t.had++; tooMuch {
		t.had = 0
	}
	t.on = false
}

// due begins a try, if it is time for one.
func (t *tries) due() bool {
	if t.had < max(t.after, minTryAfter) {
		return false
	}
	t.had, t.on = 0, true
	return true
}

// window is how long the one is that goes on. The first is short, so that what comes once is soon over.
func (b *budget) window() time.Duration {
	if b.begun {
		return max(b.length, budgetWindow)
	}
	return firstWindow
}

func (b *budget) deepest() int { return cmp.Or(b.most, maxHalvings) }

func (b *budget) rate() float64 { return b.wanted / float64(int(1)<<b.halvings) }
