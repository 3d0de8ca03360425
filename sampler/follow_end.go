package sampler

import "slices"

// letGo ends following a process that lives but cannot be sampled any more.
func (k *ticker) letGo(p *process, err error) {
	if !isGone(err) {
		k.follow.refused[p.target.PID()] = true
		k.follow.failed = err
		p.unmet = false // it has not ended
		k.notes.add("let go", "process %d %q was let go: %v", p.target.PID(), p.comm, err)
	}
	p.gone = true
}

// endThreads hands over what is known of the threads of p and forgets them.
func (k *ticker) endThreads(p *process) {
	for _, t := range p.threads {
		if t.watch != nil { // else it ended in this round already
			k.endThread(p, t)
		}
	}
	p.threads = p.threads[:0]
	p.agenda.clear()
	p.balance.audit = audit{}
}

func (k *ticker) endThread(p *process, t *thread) {
	if t.unmet() && t.tid != p.target.PID() {
		k.births.ended(false)
	}
	k.flush(t)
	k.send(sample{track: t.track, kind: ended})
	t.watch.Close()
	delete(p.byTID, t.tid)
	t.watch, p.ended = nil, true
	k.pace.rest(t, false)
}

// remove ends following process pid, which may go on. What it got until now is counted.
func (k *ticker) remove(pid int) {
	p := k.follow.byPID[pid]
	if p == nil {
		return
	}
	k.settleProcess(p, k.sys.Now())
	p.gone, p.unmet = true, false
	delete(k.births.family, pid)
	k.sweep()
	k.follow.ended-- // it has not
}

// sweep forgets processes that have ended.
func (k *ticker) sweep() {
	if slices.ContainsFunc(k.follow.processes, func(p *process) bool { return p.gone }) {
		k.drain()
	}
	k.follow.processes = slices.DeleteFunc(k.follow.processes, func(p *process) bool {
		if !p.gone {
			return false
		}
		k.endThreads(p)
		if p.unmet {
			k.births.ended(true)
		}
		k.closeToll(p)
		k.send(sample{track: &track{program: p.program, leftover: p.leftover}, kind: closed, target: p.target})
		if p.remains != nil {
			k.send(sample{track: p.remains, kind: ended})
		}
		delete(k.follow.byPID, p.target.PID())
		k.follow.ended++
		return true
	})
}
