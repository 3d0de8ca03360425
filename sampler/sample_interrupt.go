package sampler

import (
	"slices"
	"time"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/tracer"
)

// A round has two passes. First each thread is sampled without a stop, and what sleeps is served, which
// takes its time. Then those that run are interrupted one right after the other, and collected as they stop:
// as soon as one has stopped nothing else is done before it is let go. One that waits for a CPU stops when it
// gets one: until then its stack is the one it had when it was interrupted, so that rounds which pass meanwhile see
// it too. To wait for each before the next is interrupted would move all samples but the first of a round to moments
// that the scheduler chose, and make rounds last as long as all those waits.

// toStop is a thread that is to be interrupted in this round.
type toStop struct {
	p      *process
	t      *thread
	seen   time.Duration // when it was seen to run last
	sleeps bool          // it is interrupted in its sleep, for the registers
	c      *tracer.Copy
	seized bool
}

// dozed is a thread that fell asleep before it was interrupted.
type dozed struct {
	p    *process
	t    *thread
	call snapshot.Syscall
}

// interrupted is a thread that was interrupted and is not collected yet.
type interrupted struct {
	p       *process
	t       *thread
	c       *tracer.Copy
	sleeps  bool
	before  tracer.Counters
	since   time.Duration // from the begin of the round until it was interrupted
	samples int64         // rounds that passed since
	upto    time.Duration // until when the sample covers
}

// stopQueue are the threads that are to be stopped in a round, and those that were interrupted.
type stopQueue struct {
	toStop      []toStop
	dozed       []dozed // of them, those that fell asleep before they were interrupted
	interrupted []interrupted
	turn        int // where among toStop the next round begins
}

// inTurn is where among those to be stopped a round begins that has room for so many: none is always the first.
func (q *stopQueue) inTurn(room int) (from int) {
	n := len(q.toStop)
	from = q.turn % n
	if q.turn++; n > room {
		q.turn = from + room
	}
	return from
}

// alternate orders those to be stopped so that each process has its first, then each its second, where there is no room
// for all: one of many threads must not take all of it. Which is the first of a process is another in each round.
func (q *stopQueue) alternate(room int) {
	if len(q.toStop) <= room || q.toStop[0].p == q.toStop[len(q.toStop)-1].p {
		return
	}
	nth, next := make([]int, len(q.toStop)), map[*process]int{}
	for i := range q.toStop {
		p := q.toStop[i].p
		nth[i] = next[p]
		next[p]++
	}
	order := make([]int, len(nth))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return nth[a] - nth[b] })
	out := make([]toStop, len(order))
	for i, at := range order {
		out[i] = q.toStop[at]
	}
	q.toStop, q.turn = out, 0
}

// served empties what was to be stopped.
func (q *stopQueue) served() {
	clear(q.toStop)
	q.toStop = q.toStop[:0]
}

// woken empties what fell asleep.
func (q *stopQueue) woken() {
	clear(q.dozed)
	q.dozed = q.dozed[:0]
}

// take removes the thread that was interrupted for c.
func (q *stopQueue) take(c *tracer.Copy) interrupted {
	i := slices.IndexFunc(q.interrupted, func(a interrupted) bool { return a.c == c })
	a, last := q.interrupted[i], len(q.interrupted)-1
	q.interrupted[i], q.interrupted[last] = q.interrupted[last], interrupted{}
	q.interrupted = q.interrupted[:last]
	return a
}

// waits counts one more round for a thread that has not stopped yet.
func (q *stopQueue) waits(t *thread, upto time.Duration) {
	for i := range q.interrupted {
		if a := &q.interrupted[i]; a.t == t {
			a.samples += 1 + int64(t.skipped)
			t.skipped = 0
			a.upto = upto
		}
	}
}

const (
	// maxInterrupted bounds the threads that are interrupted at a time: each has a Copy.
	maxInterrupted = copies - reserved
	// drainTime bounds how long those are waited for that were interrupted, before what was interrupted is given up.
	drainTime = 300 * time.Millisecond
	// fresh is for how long a thread that was seen to run is taken to run still.
	fresh = 20 * time.Microsecond
	// relieveEvery is after how many samples without a stop it is seen whether one that was interrupted has stopped.
	relieveEvery = 16
)

// interruptAll interrupts the threads that were seen to run. What fell asleep meanwhile is served as the sleeper that
// it is, and interrupted if it runs again by then.
func (k *ticker) interruptAll() {
	for range 2 {
		if len(k.queue.toStop) == 0 {
			return
		}
		k.interruptEach()
		for i := range k.queue.dozed {
			d := &k.queue.dozed[i]
			k.relieve()
			k.sleeper(d.p, d.t, &d.call, d.p.cadence.upto)
		}
		k.queue.woken()
	}
	for i := range k.queue.toStop {
		k.forgo(&k.queue.toStop[i])
	}
	k.queue.served()
}

// interruptEach interrupts all threads of toStop that there is room for, one right after the other; they take turns.
// All are seized before the first is interrupted: to seize one may have to wait for an exec of its process.
func (k *ticker) interruptEach() {
	n, room := len(k.queue.toStop), maxInterrupted-len(k.queue.interrupted)
	k.queue.alternate(room)
	from := k.queue.inTurn(room)
	at := func(i int) *toStop { return &k.queue.toStop[(from+i)%n] }
	for i := range min(n, room) {
		at(i).c = k.buffer(0) // for all before the first is interrupted: it may take a while
	}
	for i := range n {
		a := at(i)
		switch {
		case a.t.watch == nil: // it has ended since
			k.giveBack(a)
		case a.c == nil:
			k.forgo(a)
		default:
			k.seize(a)
		}
	}
	for i := range n {
		if a := at(i); a.seized {
			k.interrupt(a)
		}
	}
	k.queue.served()
}

func (k *ticker) giveBack(a *toStop) {
	if a.c != nil {
		k.out.give(a.c)
		a.c = nil
	}
}

// forgo does without a stop in this round. A sleeper keeps the stack that it has.
func (k *ticker) forgo(a *toStop) {
	if !a.sleeps {
		k.unread(a.t)
	}
}

// seize attaches to a thread that is to be interrupted.
func (k *ticker) seize(a *toStop) {
	t := a.t
	if a.p.executing(k.turn.now) {
		k.giveBack(a)
		if !a.sleeps {
			k.lose(t)
		}
		return
	}
	if !a.sleeps && k.sys.Now()-a.seen > fresh {
		// A stop would end some of the calls that it may sleep in by now.
		call, asleep, err := t.watch.Asleep()
		if err != nil || asleep {
			k.giveBack(a)
			if err != nil {
				k.trouble(a.p, t, err)
			} else {
				k.queue.dozed = append(k.queue.dozed, dozed{a.p, t, call})
			}
			return
		}
	}
	if err := t.watch.Seize(a.p.program.prepare(a.c), a.p.program.table.Load()); err != nil {
		k.giveBack(a)
		k.trouble(a.p, t, err)
		return
	}
	a.seized = true
}

// interrupt interrupts a thread that was seized.
func (k *ticker) interrupt(a *toStop) {
	t := a.t
	before := t.base
	if now, err := t.watch.Counters(); err == nil {
		before = now
	}
	if err := t.watch.Interrupt(a.c); err != nil {
		k.giveBack(a)
		k.trouble(a.p, t, err)
		return
	}
	t.last = pending
	out := interrupted{p: a.p, t: t, c: a.c, sleeps: a.sleeps, before: before, since: k.sys.Now() - k.turn.now,
		upto: a.p.cadence.upto}
	if !a.sleeps {
		out.samples = 1 // else this round is accounted for
	}
	k.queue.interrupted, a.c = append(k.queue.interrupted, out), nil
	if len(k.queue.interrupted) > 1 { // some have stopped by now
		k.collect(0)
	}
}

// relieve collects what has stopped by now of what was interrupted. It is called before what takes a while.
func (k *ticker) relieve() {
	if len(k.queue.interrupted) > 0 {
		k.collect(0)
	}
}

// collect collects what was interrupted until all has stopped, or the time is over; what has stopped by then
// it collects in any case.
func (k *ticker) collect(until time.Duration) {
	for len(k.queue.interrupted) > 0 {
		c, err := k.sys.Collect(until - k.sys.Now())
		if c == nil {
			return
		}
		k.collected(c, err)
	}
}

// drain collects all that was interrupted.
func (k *ticker) drain() {
	k.collect(k.sys.Now() + drainTime)
	if len(k.queue.interrupted) > 0 {
		k.sys.GiveUp()
	}
	for len(k.queue.interrupted) > 0 {
		k.collected(k.queue.interrupted[0].c, tracer.ErrDirty)
	}
}

// abandon forgets what a round was at when a fault ended it. The Sampler has let all threads go.
func (k *ticker) abandon() {
	for i := range k.queue.interrupted {
		a := &k.queue.interrupted[i]
		k.out.give(a.c)
		k.lose(a.t)
	}
	for i := range k.queue.toStop {
		k.giveBack(&k.queue.toStop[i])
	}
	clear(k.queue.interrupted)
	k.queue.interrupted = k.queue.interrupted[:0]
	k.queue.served()
	k.queue.woken()
}

// collected completes the sample for which c was given.
func (k *ticker) collected(c *tracer.Copy, err error) {
	a := k.queue.take(c)
	a.t.last = delivered
	if err != nil {
		k.out.give(c)
		k.trouble(a.p, a.t, err)
		return
	}
	if a.sleeps {
		k.sleeperStopped(a.t, c, a.samples, a.upto)
		return
	}
	k.runnerStopped(a.t, c, stop{a.before, a.since, a.before.Switches - a.t.base.Switches, a.upto - a.t.upto},
		a.samples, a.upto)
}
