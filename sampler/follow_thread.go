package sampler

import (
	"time"

	"github.com/fpstack/fpstack/tracer"
)

// thread is a thread that is followed. It belongs to the ticker.
type thread struct {
	of    *process
	tid   int
	age   age
	slot  int // spreads the samples of long sleepers over the rounds
	watch watch
	track *track
	name  string
	// process is the name of its process as it was reported with its own.
	process string

	activity     activity
	last         outcome
	sleepChecked time.Duration // when we last checked whether it sleeps
	base         tracer.Counters
	own          bool          // our stop moved its counters since
	upto         time.Duration // until when its time is accounted for
	skipped      uint64        // rounds since it was sampled, of a long sleeper
	round        uint64        // round of the last sample
	read         uint64        // round in which its counters were read last
	resting      bool          // it has slept long, and is not sampled in each round
	still        int           // samples in a row at which it had not run
	moved        bool          // it ran since its name was read
	tried        time.Duration // when it was stopped in its sleep last, or it was tried
	calls        int           // how often it was met at the end of a system call, see nearOf

	samples int64 // not handed over yet, of the stack seen last
	from    time.Duration
	end     time.Duration
	cpu     time.Duration // not handed over yet
}

// activity is what a thread did at the last sample that gave something.
type activity uint8

const (
	unsampled activity = iota // there was none: its time has no stack to go to
	running                   // it ran, or waited for a CPU
	sleeping
)

// outcome is what came of the last try to sample a thread.
type outcome uint8

const (
	delivered outcome = iota
	pending           // it was interrupted, and is not collected yet
	missed            // nothing: its time goes to the next sample
)

// age is how much is known of a thread that may have begun during the recording.
type age uint8

const (
	settled age = iota // it was there before, or was stopped
	newborn            // it began, and was not sampled yet
	adopted            // as newborn, but it has taken more CPU time than there was: it began elsewhere
	young              // it began and was sampled, but never stopped
)

// unmet reports whether t began during the recording and was never sampled.
func (t *thread) unmet() bool { return t.age == newborn || t.age == adopted }

// born reports whether t began during the recording and was never stopped.
func (t *thread) born() bool { return t.age == newborn || t.age == young }

// meet notes that t was sampled.
func (t *thread) meet() {
	switch t.age {
	case newborn:
		t.age = young
	case adopted:
		t.age = settled
	}
	t.of.unmet = false
}

// skip counts the rounds since the last sample up to last, of a thread that is not sampled in each.
func (t *thread) skip(last uint64) {
	if t.resting && last > t.round {
		t.skipped += last - t.round
		t.round = last
	}
}

// skipTo returns how many samples since the last one up to round its long sleep stands for, which are counted then.
func (t *thread) skipTo(round uint64) uint64 {
	t.skip(round)
	n := t.skipped
	t.skipped = 0
	return n
}

// took notes the CPU time since the last sample.
func (t *thread) took(now tracer.Counters) {
	took := max(0, now.CPU-t.base.CPU)
	t.cpu += took
	t.saw(took)
	t.base, t.own = now, false
}

// saw notes that its counters were read, by which it took so much since the last time.
func (t *thread) saw(took time.Duration) {
	s := &t.of.balance
	s.seen += took
	if t.read < s.audit.round {
		s.audit.seen += took
	}
	t.read = t.of.round
}
