package sampler

import (
	"time"

	"github.com/fpstack/fpstack/tracer"
)

const (
	// patience is after how many samples without a change a thread counts as a long sleeper; where there are
	// more than easyPolls threads it is after fewer, as sampling them all takes its time.
	patience, leastPatience = 100, 1
	// maxPrompt is how many threads may be followed for a round to come before all usual threads: it takes them
	// a CPU for some tenths of a millisecond then.
	maxPrompt = 256
	// sleepStops bounds the sleepers stopped in one round.
	sleepStops = 32
	// bufferWait bounds how long a round waits for the counter.
	bufferWait = 20 * time.Millisecond
)

// ticker takes samples: it reads counters, stops and copies. All its fields belong to the goroutine
// that calls it.
type ticker struct {
	sys    system
	opt    *Options
	out    outbox
	queue  stopQueue
	follow followed
	turn   rounds

	draw     func() float64
	search   search
	births   births
	pace     pace
	beside   beside
	boundary *boundary // nil: none is wanted
	counted  tally
	notes    notes
}

// followed is what is recorded, and what is not.
type followed struct {
	processes []*process
	byPID     map[int]*process
	refused   map[int]bool // not recorded, reported once
	refusals  int
	noKernel  bool  // where in the kernel threads wait cannot be read
	failed    error // why a process was let go last
	ended     int
	tasks     int32 // made so far, as programs and threads
	programs  int32
	slot      int
}

// rounds is when the recording began, and what is known of the round under way.
type rounds struct {
	begun   time.Duration
	round   uint64
	now     time.Duration
	upto    time.Duration // the last round covers the time until then
	stops   int           // sleepers that may be stopped in this round
	met     uint64        // threads that were due, in all rounds
	runners int           // threads stopped in this round of many as they ran
	runs    *thread       // the last of them
}

// tally is the ticker's part of Stats.
type tally struct {
	ticks, late, samples, reused, stops, peeks, lost, behind, lowered uint64
	unseen                                                            time.Duration
	pauses                                                            pauses
	// wall time of samples in which threads ran
	ran time.Duration
}

func newTicker(sys system, opt *Options, queue batches, free <-chan *tracer.Copy, draw func() float64) *ticker {
	polls := easyPolls
	if opt.Gentle {
		polls = gentlePolls
	}
	return &ticker{sys: sys, opt: opt, out: outbox{queue: queue, free: free},
		follow: followed{byPID: map[int]*process{}, refused: map[int]bool{}},
		draw:   draw,
		pace:   pace{polls: polls, every: 1, mostFirst: maxFirst}}
}

// tick makes one round at now, in the cell of that number and length, which ends at upto.
func (k *ticker) tick(now time.Duration, cell int64, upto, period time.Duration) {
	k.turn.now = now
	k.turn.round++
	if k.out.heldUp(k.turn.now) {
		k.collect(now)
		k.notes.add("held up",
			"walking and counting was held up, maybe by a file that cannot be read; samples were left out meanwhile")
		return
	}
	k.turn.stops, k.out.waited, k.turn.runners = sleepStops, false, 0
	k.collect(now) // what has stopped by now is interrupted again
	if k.boundary != nil && upto > k.boundary.at {
		k.close()
	}
	if len(k.out.batch) >= batchSize {
		k.out.handOver(k.turn.now)
	}
	k.turn.upto = upto
	missed := uint64(0)
	for _, p := range k.follow.processes {
		missed = max(missed, p.cadence.meet(k.turn.round, cell, upto, period))
	}
	k.counted.late += missed
	k.discover(now)
	k.clocks()
	k.pace.patient, k.pace.first = k.patience(), k.pace.firsts(period)
	k.pace.spread(k.follow.waiting())
	for _, p := range k.follow.processes {
		if !p.gone && k.isDue(p) {
			k.visit(p)
		}
	}
	k.pace.took = k.sys.Now() - now
	k.sweep()
	k.interruptAll()
	k.counted.ticks++
	k.handUrgent()
}

// handUrgent hands over what is urgent of samples that follow one another closely: no wait comes between them.
func (k *ticker) handUrgent() {
	if k.dense() && k.out.urgent && k.turn.now-k.out.handed >= handUrgent {
		k.out.handOver(k.turn.now)
	}
}

// await lets time pass until the next round is due. What was interrupted comes first, and is stopped no longer than
// it must: the counter is woken afterwards.
func (k *ticker) await(due time.Duration) {
	k.collect(due)
	if k.out.urgent || k.turn.now-k.out.handed >= handEvery || len(k.out.batch) >= batchSize {
		k.out.handOver(k.turn.now)
	}
	if len(k.queue.interrupted) == 0 {
		if !k.dense() {
			k.approach()
		}
		k.sys.Pause(due-k.sys.Now(), !k.dense() && k.follow.threads() <= maxPrompt)
	}
}

// dense reports whether samples follow one another so closely that what hardly changes is not read
// for each of them.
func (k *ticker) dense() bool { return k.opt.Rate == 0 || k.opt.Rate > closeRate }

// sleepCheckEvery is how often it is read then.
const sleepCheckEvery = 2 * time.Millisecond

// visit samples the threads of one process that are due.
func (k *ticker) visit(p *process) {
	upto := p.cadence.upto
	p.round++
	p.checked = false
	k.sampleDue(p, upto)
	p.replaced = p.replaced || p.closed
	if p.replaced && !p.gone {
		k.drain()
	}
	// What is still traced, by us, cannot be opened again: the next round will see to it.
	reopen := p.replaced && !k.sys.Dirty()
	p.replaced = false
	if reopen && !p.gone {
		k.replace(p)
		k.sampleDue(p, upto)
	}
	k.audit(p, upto)
	if p.ended {
		p.ended = false
		p.forgetEnded()
	}
	p.gone = p.gone || len(p.threads) == 0 && k.opt.TIDs == nil && !p.closed && !p.wants
}

// sampleDue samples the threads of p that are due, until it is seen to be gone or another program.
func (k *ticker) sampleDue(p *process, upto time.Duration) {
	waiting := len(p.agenda.first)
	due := p.agenda.due(p.round, k.pace.first)
	k.pace.first -= waiting - len(p.agenda.first)
	k.turn.met += uint64(len(due))
	p.cadence.cost += readCost * uint64(len(due))
	next := 0
	// Where there are not buffers for all they take turns.
	at := func(i int) *thread { return due[(uint64(i)+p.round*maxInterrupted)%uint64(len(due))] }
	defer func() {
		for ; next < len(due); next++ { // a fault ended it: they are sampled in the next
			k.replan(p, at(next))
		}
		clear(due)
	}()
	for ; next < len(due); next++ {
		t := at(next)
		if next%relieveEvery == 0 {
			k.relieve()
		}
		if t.watch != nil && !p.gone && !p.replaced {
			k.sampleThread(p, t, upto)
		}
		k.replan(p, t)
	}
}

// replan is plan, if t has not ended.
func (k *ticker) replan(p *process, t *thread) {
	if t.watch != nil {
		k.plan(p, t)
	}
}

// sampleThread samples one thread.
func (k *ticker) sampleThread(p *process, t *thread, upto time.Duration) {
	t.skip(p.round - 1)
	first := t.round == 0
	t.round = p.round
	if t.last == pending {
		k.queue.waits(t, upto)
		return
	}
	if t.activity == sleeping {
		now, err := t.watch.Counters()
		if err != nil {
			k.trouble(p, t, err)
			return
		}
		if t.base.Unmoved(now) && t.last != missed && !t.track.wantCopy.Swap(false) {
			k.unmoved(p, t, now, upto)
			return
		}
	}
	t.skipped, t.still, t.moved = 0, 0, t.moved || !first
	if t.activity == running && k.dense() && k.turn.now-t.sleepChecked < sleepCheckEvery {
		k.runner(p, t, upto)
		return
	}
	t.sleepChecked = k.turn.now
	k.relieve()
	if !p.checked { // only what ran can have begun another program
		p.checked = true
		if p.target.Replaced() {
			p.replaced = true
			return
		}
	}
	call, asleep, err := t.watch.Asleep()
	switch {
	case err != nil:
		k.trouble(p, t, err)
	case asleep:
		k.sleeper(p, t, &call, upto)
	default:
		t.moved = true
		k.runner(p, t, upto)
	}
}

// account adds samples of the stack seen last.
func (k *ticker) account(t *thread, samples int64, upto time.Duration) {
	upto = max(upto, t.upto)
	switch {
	case t.last == missed || t.activity == unsampled && !k.opt.running():
		return // for the next sample
	case t.activity == sleeping && k.opt.running():
		t.upto = upto // it waits, which is not recorded
		return
	}
	if t.samples == 0 {
		t.from = t.upto
	}
	t.samples += samples
	t.end, t.upto = upto, upto
}

// flush hands over what the stack seen last has got.
func (k *ticker) flush(t *thread) {
	if t.samples > 0 || t.end > t.from || t.cpu > 0 {
		k.hand(t, sample{kind: nothing})
	}
}

// hand completes a sample and hands it over.
func (k *ticker) hand(t *thread, l sample) {
	l.track, l.samples, l.at, l.end, l.cpu = t.track, t.samples, t.from, t.end, t.cpu
	t.samples, t.from, t.end, t.cpu = 0, 0, 0, 0
	switch l.kind {
	case stopped, again:
		t.of.cadence.cost += stopCost
	case peeked:
		t.of.cadence.cost += peekCost
	}
	k.out.urgent = k.out.urgent || l.copied != nil && (l.copied.Stale || l.kind == again ||
		k.turn.now-t.track.program.begun < youth)
	k.send(l)
}

// seen hands over a sample with another stack, which has so many samples from now on.
func (k *ticker) seen(t *thread, l sample, samples int64, upto time.Duration) {
	upto = max(upto, t.upto)
	k.hand(t, l)
	t.last = delivered
	t.meet()
	k.counted.samples += uint64(samples)
	if t.activity == sleeping && k.opt.running() {
		t.upto = upto
		return
	}
	t.samples, t.from, t.end = samples, t.upto, upto
	t.upto = upto
}

// unread leaves the time of a thread to its next sample, for want of a Copy: what was copied before is not walked yet.
func (k *ticker) unread(t *thread) {
	k.counted.behind++
	k.lose(t)
}

// lose leaves a thread's time to its next sample.
func (k *ticker) lose(t *thread) {
	k.counted.lost++
	t.last = missed
}

// begin notes when the recording begins.
func (k *ticker) begin(now time.Duration) {
	k.turn.now, k.turn.begun, k.turn.upto, k.search.listed = now, now, now, now
	k.listen(now)
	for _, p := range k.follow.processes {
		p.cadence.upto = now
		for _, t := range p.threads {
			t.upto = now
			if base, err := t.watch.Counters(); err == nil {
				t.base = base
			}
		}
		k.open(p, false)
	}
}

// closeAccounts closes the accounts of all threads at the end of the recording: the last sample of
// each covers the time until then, no more and no less.
func (k *ticker) closeAccounts(end time.Duration) {
	never := 0
	k.hearLast()
	for _, p := range k.follow.processes {
		never += k.settleProcess(p, end)
		k.reportUnseen(p, p.balance.now())
	}
	if never > maxFirst {
		k.notes.add("never", "%d threads were not sampled even once: the recording was too short for so many", never)
	}
}

// settleProcess closes the accounts of the threads of p, and counts those that were never sampled.
func (k *ticker) settleProcess(p *process, end time.Duration) (never int) {
	k.readToll(p) // before its threads
	for _, t := range p.threads {
		if t.activity == unsampled {
			never++
		}
		if t.watch != nil { // else it has ended
			t.skip(p.round)
			k.reread(t)
			k.flushUntil(t, end)
		}
	}
	return never
}

// reread finds what a thread took since the last sample.
func (k *ticker) reread(t *thread) {
	if k.pace.every > 1 && t.resting { // one of very many that sleep
		return
	}
	now, err := t.watch.Counters()
	if err == nil && !(t.own && t.base.Unmoved(now)) {
		t.took(now)
	}
}

func (k *ticker) flushUntil(t *thread, end time.Duration) {
	if t.activity != unsampled && t.last != missed && !(t.activity == sleeping && k.opt.running()) {
		if t.samples == 0 {
			t.from = t.upto
		}
		t.samples += int64(t.skipped)
		t.skipped = 0
		t.end = max(t.from, end)
	}
	k.flush(t)
}
