package sampler

import "time"

const (
	// budgetWindow is over how long the cost is measured.
	budgetWindow = time.Second
	// firstWindow is for how long nothing is lowered: the beginning comes once.
	firstWindow = budgetWindow / 4
	// longestFirst is how long that may be where threads are so many that not all were sampled once by then.
	longestFirst = 5 * time.Second
	// leastShare bounds how seldom a process is sampled, where the rate is that of days leastGentleShare.
	leastShare, leastGentleShare = 1. / 64, 1. / 512
	// What costs more than the limit is to cost aimed of it, what costs less than roomy of it may cost more.
	aimed, roomy = 0.8, 0.7
	// A share falls to a quarter in a window at most, and grows slowly: the load of a program comes and goes.
	mostFall, mostRise = 0.25, 1.2
)

// budget decides which share of what all processes would cost at the full rate the recording spends on them, by what it
// costs.
type budget struct {
	limit  float64 // share of a CPU, 0: none
	least  float64 // of share
	share  float64
	begun  bool
	length time.Duration // of a window
	// prolonged says that the first window went on until all threads were sampled once.
	prolonged bool
	at        time.Duration // begin of the window
	cpu       time.Duration // own CPU time then
	stopped   time.Duration // time threads had been stopped, of ran
	ran       time.Duration
}

func newBudget(opt *Options, now, cpu time.Duration) budget {
	b := budget{limit: opt.MaxOverhead, least: leastShare, share: 1, length: max(opt.BudgetWindow, budgetWindow),
		at: now, cpu: cpu}
	if opt.Gentle {
		b.least = leastGentleShare
	}
	if opt.Rate == 0 {
		b.limit = 0
	}
	return b
}

// spent is what the recording has cost so far.
type spent struct {
	cpu          time.Duration // CPU time of this program
	stopped, ran time.Duration // threads were stopped, threads were seen running
	beginning    bool          // not all threads were sampled once
}

// excess is a window that cost too much.
type excess struct{ cpu, stopped float64 } // shares

// check closes a window if it is over: share is that of the next. It returns what was too much if it was lowered.
//
// What does not depend on the share is part of the cost, so that a share which is changed in the proportion of the cost
// to the aim comes near it in some windows, and never beyond.
func (b *budget) check(now time.Duration, s spent) (closed bool, over *excess) {
	if b.limit <= 0 || now-b.at < b.window() {
		return false, nil
	}
	if !b.begun && s.beginning && now-b.at < longestFirst {
		b.prolonged = true
		return false, nil
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
	switch change := aimed * b.limit / worst; {
	case first: // opening files and the first sample of every thread come once
	case worst > b.limit && b.share > b.least:
		b.share = max(b.least, b.share*max(change, mostFall))
		return true, &excess{cpu, stopped}
	case worst < roomy*b.limit:
		b.share = min(1, b.share*min(change, mostRise))
	}
	return true, nil
}

// window is how long the one is that goes on. The first is short, so that what comes once is soon over.
func (b *budget) window() time.Duration {
	if b.begun {
		return b.length
	}
	return firstWindow
}
