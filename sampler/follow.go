package sampler

import (
	"errors"
	"io/fs"
	"slices"
	"time"

	"github.com/fpstack/fpstack/maps"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/tracer"
)

// process is a process that is followed. It belongs to the ticker.
type process struct {
	target   target
	program  *program
	comm     string
	began    uint64
	threads  []*thread
	agenda   agenda
	cadence  *cadence // that of the process which began it, if that is followed
	round    uint64   // of samples of it
	ended    bool     // a thread of it has, and is in threads still
	byTID    map[int]*thread
	checked  bool // in this round: whether it runs another program
	replaced bool // it does
	closed   bool // it does, and could not be opened again yet
	// wants: something of it could not be opened since the last listing: it may have threads that are not followed
	wants bool
	gone  bool
	// leftUntil: it is not stopped before
	leftUntil time.Duration
	unmet     bool      // it began during the recording, and none of its threads was sampled yet
	partial   bool      // a thread of it could not be followed
	balance   balance   // beyond what was seen of its threads
	leftover  *leftover // what its ended threads left: belongs to the counter
	remains   *track    // of those
}

// add begins to follow process pid, and those below it. parent is the cadence of what began it, nil if that is not
// followed.
func (k *ticker) add(pid int, born bool, parent *cadence) error {
	if k.follow.byPID[pid] != nil {
		return nil
	}
	k.relieve()
	if k.search.lastID == 0 { // what is made from here on is found by its id
		k.search.lastID, _ = k.sys.LastID()
	}
	p, err := k.sys.Open(pid)
	if err != nil {
		return err
	}
	if k.follow.byPID[p.PID()] != nil { // pid was the id of a thread
		return p.Close()
	}
	table, err := p.Maps()
	if err != nil {
		p.Close()
		return err
	}
	q := &process{target: p, byTID: map[int]*thread{}, cadence: parent}
	if parent == nil {
		q.cadence = newCadence(max(k.turn.upto, k.sys.Now()), k.draw)
	}
	if q.began, err = p.Began(); err != nil {
		p.Close()
		return err
	}
	q.unmet = born
	reported := k.births.reported(p.PID())
	k.births.belongs(p.PID(), q.cadence)
	q.program = newProgram(k.follow.programs, p, table, k.sys.Now(), k.opt.runtimes(p))
	q.program.main = k.follow.programs == 0
	k.follow.programs++
	k.follow.byPID[p.PID()] = q
	k.follow.processes = append(k.follow.processes, q)
	q.leftover = &leftover{}
	k.listThreads(q, born)
	k.open(q, born)
	if parent := k.follow.byPID[q.balance.parent]; parent != nil {
		q.leftover.parent = parent.leftover
	}
	if k.opt.Children && !reported {
		k.listChildren(q, born)
	}
	return nil
}

// listThreads finds threads that are new, and reports whether the process lives.
func (k *ticker) listThreads(p *process, born bool) bool {
	ids, err := p.target.ThreadIDs()
	if p.wants = tracer.Transient(err); p.wants {
		k.wanting(p, err)
	}
	if err != nil {
		return !isGone(err)
	}
	for _, tid := range ids {
		k.addThread(p, tid, born)
	}
	return true
}

// addThread begins to follow a thread. One that was born during the recording took all its CPU
// time in it. It reports whether that has ended.
func (k *ticker) addThread(p *process, tid int, born bool) (gone bool) {
	if p.byTID[tid] != nil || k.opt.TIDs != nil && !slices.Contains(k.opt.TIDs, tid) {
		return false
	}
	k.relieve()
	w, err := p.target.Watch(tid)
	if err != nil {
		switch {
		case tracer.Transient(err): // the next listing meets it again
			k.wanting(p, err)
		case !isGone(err):
			p.partial = true
			k.notes.add("watch", "thread %d is not recorded: %v", tid, err)
		}
		return isGone(err)
	}
	if isWorker(w) {
		w.Close()
		return false
	}
	t := &thread{tid: tid, slot: k.follow.slot, watch: w, upto: p.cadence.begins(k.turn.round)}
	k.follow.slot++
	now, err := w.Counters()
	if err == nil {
		var state byte
		if state, t.name = w.First(); state == 'Z' || state == 'X' {
			err = tracer.ErrNoThread // a leader that ended before its threads
		}
	}
	if err != nil {
		w.Close()
		return isGone(err)
	}
	switch {
	case !born:
		t.base = now
	case now.CPU > k.turn.now-k.turn.begun: // it cannot have taken that since
		t.base, t.age = now, adopted
	default:
		t.age = newborn
	}
	if tid == p.target.PID() {
		p.comm = t.name
	}
	t.of = p
	t.read = p.balance.audit.round // it is not in what the clock showed then
	t.process = p.comm
	t.track = k.newTrack(p, tid, t.name)
	p.byTID[tid] = t
	p.threads = append(p.threads, t)
	p.agenda.first = append(p.agenda.first, t)
	return false
}

// newTrack makes a thread known to the counter. tid is 0 for what represents several.
func (k *ticker) newTrack(p *process, tid int, name string) *track {
	t := &track{program: p.program, leftover: p.leftover, tid: tid, task: k.follow.tasks}
	k.follow.tasks++
	k.send(sample{track: t, kind: named, name: p.task(tid, name)})
	return t
}

// task is a thread of p as a profile has it.
func (p *process) task(tid int, name string) profile.Task {
	return profile.Task{PID: p.target.PID(), TID: tid, Began: p.began, Process: p.comm, Thread: name}
}

// isWorker reports whether a thread has no user code.
func isWorker(w watch) bool {
	k, ok := w.(interface{ KernelWorker() bool })
	return ok && k.KernelWorker()
}

// listChildren begins to follow what p has started.
func (k *ticker) listChildren(p *process, born bool) {
	ids, err := p.target.Children()
	if err != nil {
		return
	}
	for _, pid := range ids {
		k.addChild(pid, born, p.cadence)
	}
}

// addChild begins to follow a process that was not named by its id. It reports whether that has ended.
func (k *ticker) addChild(pid int, born bool, parent *cadence) (gone bool) {
	if k.follow.refused[pid] {
		return false
	}
	switch err := k.add(pid, born, parent); {
	case err == nil:
	case isGone(err):
		return true
	case tracer.Transient(err): // the next listing meets it again
		k.notes.add("wanting", "process %d is not recorded yet: %v", pid, err)
	default:
		if len(k.follow.refused) >= maxRefused {
			clear(k.follow.refused) // they are refused again
		}
		k.follow.refused[pid] = true
		k.follow.refusals++
		if k.follow.refusals == 1 {
			k.notes.add("child", "process %d is not recorded: %v", pid, err)
		} else {
			k.notes.add("child", "%d processes are not recorded, the last: process %d: %v", k.follow.refusals, pid, err)
		}
	}
	return false
}

// isGone reports whether what was looked for has ended.
func isGone(err error) bool {
	var zombie *tracer.ZombieError
	return errors.Is(err, fs.ErrNotExist) || errors.Is(err, tracer.ErrNoProcess) ||
		errors.Is(err, tracer.ErrNoThread) || errors.As(err, &zombie)
}

const (
	// maxNewIDs is how many new ids are checked one by one, gentleNewIDs where each reading counts.
	maxNewIDs, gentleNewIDs = 64, 8
	// listEvery is how often all threads and children are listed, in case one was missed; more seldom where that would
	// take more than half a hundredth of the time.
	listEvery = time.Second
	listShare = 200
	// gentleShare is listShare where each reading counts.
	gentleShare = 1000
	// maxRefused bounds the processes that are not tried again.
	maxRefused = 1 << 12
	// discoverEvery bounds how often new ids are looked for.
	discoverEvery = time.Millisecond
)

// search is when threads and processes were last looked for.
type search struct {
	discovered, listed time.Duration
	listing            time.Duration // how long the last listing took
	lastID             int           // the youngest id then
}

// discover finds threads and processes that are new since the last round.
func (k *ticker) discover(now time.Duration) {
	if now-k.search.discovered < discoverEvery && k.search.discovered != 0 {
		return
	}
	k.search.discovered = now
	if k.hear(now) {
		if now-k.search.listed >= k.listAge() {
			k.list(now)
		}
		return
	}
	if k.opt.TIDs != nil && !k.opt.Children { // new ones are none of those that were named, mostly
		if now-k.search.listed >= k.listAge() {
			k.list(now)
		}
		return
	}
	last, err := k.sys.LastID()
	from := k.search.lastID
	k.search.lastID = last
	most := maxNewIDs
	if k.opt.Gentle {
		most = gentleNewIDs
	}
	due, many := now-k.search.listed >= k.listAge(), err != nil || last < from || last-from > most
	if due || many && !k.opt.Gentle {
		k.list(now)
	}
	if due || many {
		return
	}
	for id := last; id > from; id-- { // the youngest is the likeliest to live still
		k.meet(id)
	}
}

// listAge is how old a list of all threads may be.
func (k *ticker) listAge() time.Duration {
	if k.opt.Gentle {
		return max(listEvery, gentleShare*k.search.listing)
	}
	return max(listEvery, listShare*k.search.listing)
}

// meet begins to follow a new thread or child.
func (k *ticker) meet(id int) {
	pid, parent, err := k.sys.Kin(id)
	if err != nil {
		return // it has ended, or was never an id of ours
	}
	if p := k.follow.byPID[pid]; p != nil {
		if !p.closed {
			k.addThread(p, id, true)
		}
		return
	}
	if of := k.follow.byPID[parent]; k.opt.Children && of != nil && pid == id {
		k.addChild(pid, true, of.cadence)
	}
}

// list lists all threads and children.
func (k *ticker) list(now time.Duration) {
	k.search.listed = now
	defer func(began time.Duration) { k.search.listing = k.sys.Now() - began }(k.sys.Now())
	for _, p := range slices.Clone(k.follow.processes) {
		if p.gone || p.closed || !k.listThreads(p, true) {
			continue
		}
		if k.opt.Children {
			k.listChildren(p, true)
		}
		k.rename(p)
	}
}

// rename learns the names that threads gave themselves since they began.
func (k *ticker) rename(p *process) {
	if p.target.Replaced() {
		return // the names are those of another program
	}
	alive := false
	for _, t := range p.threads {
		if t.watch == nil { // it has ended
			continue
		}
		if !t.moved { // it sleeps: it is there, and has the name it had
			alive = true
			continue
		}
		t.moved = false
		state, name, err := t.watch.State()
		if err != nil {
			alive = alive || tracer.Transient(err)
			continue
		}
		alive = alive || state != 'Z' && state != 'X'
		if t.tid == p.target.PID() {
			p.comm = name
		}
		if t.name != name || t.process != p.comm {
			t.name, t.process = name, p.comm
			k.send(sample{track: t.track, kind: named, name: p.task(t.tid, name)})
		}
	}
	if !alive {
		p.gone = true
	}
}

// replace makes a process that began another program a new one with the same id.
func (k *ticker) replace(p *process) {
	var cpu time.Duration
	if t := p.byTID[p.target.PID()]; t != nil {
		cpu = t.base.CPU
	}
	if !p.closed {
		k.endThreads(p)
		k.send(sample{track: &track{program: p.program}, kind: closed})
	}
	err := p.target.Reopen()
	var table *maps.Table
	if err == nil {
		table, err = p.target.Maps()
	}
	if p.closed = tracer.Transient(err); p.closed { // the next round tries again
		k.wanting(p, err)
		return
	}
	if err != nil {
		k.letGo(p, err)
		return
	}
	main := p.program.main
	p.program = newProgram(k.follow.programs, p.target, table, k.sys.Now(), k.opt.runtimes(p.target))
	p.program.main = main
	k.follow.programs++
	k.listThreads(p, false)
	if t := p.byTID[p.target.PID()]; t != nil && t.base.CPU > cpu && cpu > 0 {
		t.base.CPU = cpu // what it took since the last sample is of the new program, mostly
	}
}
