package sampler

import (
	"errors"
	"maps"
	"time"

	"github.com/fpstack/fpstack/tracer/connector"
)

// Where the kernel reports each thread and process that begins or ends, nothing has to be listed or read to see what it
// is: what is ours is known by its parent, also if that has ended, and what began and ended between two rounds is known
// to have been.

// eventSource reports what began and ended on this machine, see connector.Events.
type eventSource interface {
	// Read fills into with what happened since, and does not wait. connector.ErrMissed says that some was lost.
	Read(into []connector.Event) (n int, err error)
	Close() error
}

const (
	// maxHeard bounds the events that are read in a round: some half of a millisecond, or twice what maxStrange allows
	// since the last round. What is left is read in the next.
	maxHeard = 1 << 9
	// maxStrange is how many events of others are read in a second: each takes about a microsecond, so that it is a
	// hundredth of a CPU. Beyond that, or where others make more between two rounds than the kernel keeps for us, we do
	// without for a second, twice as long each time it comes again, up to maxDeaf.
	maxStrange = 10_000
	minDeaf    = time.Second
	maxDeaf    = time.Minute
)

// births knows which threads and processes of ours began. It belongs to the ticker.
type births struct {
	source eventSource // nil: none, or not now
	failed bool        // there is none
	joined bool        // what began before we listened is found

	// family are processes that are followed, and what began below them, until their end is heard.
	family map[int]*cadence
	alive  map[int]int // threads that began and are not met yet, and the processes they belong to
	order  []int       // of alive, as they began; some may have ended
	into   [64]connector.Event

	read    time.Duration // when events were read last
	flooded bool          // others made more than the kernel keeps
	strange int           // events of others in this second, which ends at until
	until   time.Duration // when it ends
	deaf    time.Duration // how long we did without the last time
	back    time.Duration // until when we do without now

	listened bool // at some time
	missed   bool // some were not heard
	// unmet are those that began and ended and were never sampled.
	unmet struct{ processes, threads uint64 }
}

// belongs notes that a process is followed.
func (b *births) belongs(pid int, to *cadence) {
	if b.source != nil {
		b.family[pid] = to
	}
}

// reported says whether all that begins below a process was heard, and will be.
func (b *births) reported(pid int) bool {
	_, reported := b.family[pid]
	return reported
}

// listen opens the source of events, unless there is none, too much was heard of others, or it is of no use.
func (k *ticker) listen(now time.Duration) {
	b := &k.births
	if b.source != nil || b.failed || now < b.back || !k.opt.Children && k.fewBirths() {
		return
	}
	source, err := k.sys.Events()
	if err != nil {
		b.failed = true // as things are without
		return
	}
	b.source, b.joined, b.listened = source, false, true
	b.read, b.strange, b.until, b.flooded = now, 0, now+time.Second, false
	b.family, b.alive, b.order = map[int]*cadence{}, map[int]int{}, nil
	for pid, p := range k.follow.byPID {
		b.belongs(pid, p.cadence)
	}
}

// fewBirths reports whether the threads that begin are not worth what it costs to hear of all that begin on the
// machine: few of them are sampled earlier in a recording of days, none where threads are chosen by their ids, and as
// fast as can be each of our own stops makes two events more, which nobody wants.
func (k *ticker) fewBirths() bool { return k.opt.Gentle || k.opt.TIDs != nil || k.dense() }

// hear meets what began since the last round. It is false if that may not be all.
func (k *ticker) hear(now time.Duration) bool {
	k.listen(now)
	b := &k.births
	if b.source == nil {
		return false
	}
	whole := k.catchUp(now) && b.joined
	b.joined = true
	k.meetAll()
	if b.tooStrange(now) {
		b.close()
		b.missed = true
		return false
	}
	return whole
}

// catchUp reads what happened since. It is false if some of it was lost.
func (k *ticker) catchUp(now time.Duration) bool {
	b := &k.births
	whole, strange := true, b.strange
	most := max(maxHeard, int(2*maxStrange*(now-b.read).Seconds()))
	b.read = now
	for heard := 0; heard < most; {
		n, err := b.source.Read(b.into[:])
		for _, e := range b.into[:n] {
			b.note(e, k.opt.Children)
		}
		heard += n
		if err != nil {
			whole = false
			b.missed = true
			if !errors.Is(err, connector.ErrMissed) {
				b.close()
				b.failed = true
				return false
			}
			b.forget(k.follow.byPID)
			b.flooded = 2*(b.strange-strange) > heard
		} else if n < len(b.into) {
			break
		}
	}
	return whole
}

// hearLast takes into account what ended since the last round.
func (k *ticker) hearLast() {
	if k.births.source != nil {
		k.catchUp(k.turn.now)
	}
}

// note takes one event into account.
func (b *births) note(e connector.Event, children bool) {
	to, ours := b.family[e.PID]
	if e.Parent != 0 && children && !ours {
		to, ours = b.family[e.Parent]
	}
	switch {
	case !ours:
		b.strange++
	case !e.Ended:
		b.family[e.PID] = to
		b.alive[e.TID] = e.PID
		b.order = append(b.order, e.TID)
	default:
		if _, waits := b.alive[e.TID]; waits {
			delete(b.alive, e.TID)
			b.ended(e.TID == e.PID)
		}
		if e.TID == e.PID {
			delete(b.family, e.PID)
		}
	}
}

// ended counts one that was never sampled.
func (b *births) ended(process bool) {
	if process {
		b.unmet.processes++
	} else {
		b.unmet.threads++
	}
}

// meetAll begins to follow what began and has not ended. The youngest is the likeliest to live still.
func (k *ticker) meetAll() {
	b := &k.births
	for i := len(b.order) - 1; i >= 0; i-- {
		tid := b.order[i]
		pid, lives := b.alive[tid]
		if !lives {
			continue
		}
		delete(b.alive, tid)
		gone := false
		if p := k.follow.byPID[pid]; p != nil && !p.closed {
			gone = k.addThread(p, tid, true)
		} else if p == nil && tid == pid {
			gone = k.addChild(pid, true, b.family[pid])
		}
		if gone {
			b.ended(tid == pid)
		}
	}
	b.order = b.order[:0]
}

// forget makes the family what is followed: of others the end may have been lost.
func (b *births) forget(followed map[int]*process) {
	old := maps.Clone(b.family)
	clear(b.family)
	for pid, p := range followed {
		b.family[pid] = p.cadence
	}
	for _, pid := range b.alive {
		b.family[pid] = old[pid]
	}
}

// tooStrange reports whether so much was heard of others that we had better not listen.
func (b *births) tooStrange(now time.Duration) bool {
	if b.strange > maxStrange || b.flooded {
		b.deaf = min(maxDeaf, max(minDeaf, 2*b.deaf))
		b.back = now + b.deaf
		return true
	}
	if now >= b.until {
		if b.strange < maxStrange/2 {
			b.deaf /= 2
		}
		b.strange, b.until = 0, now+time.Second
	}
	return false
}

// report puts what was heard into s.
func (b *births) report(s *Stats) {
	s.Heard, s.AllHeard = b.listened, b.listened && !b.missed
	if b.listened {
		s.UnmetProcesses, s.UnmetThreads = b.unmet.processes, b.unmet.threads
	}
}

// close ends listening, for now or for good.
func (b *births) close() {
	if b.source == nil {
		return
	}
	b.source.Close()
	b.source, b.family, b.alive, b.order = nil, nil, nil, nil
}
