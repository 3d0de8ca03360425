package hotspot

import (
	"fmt"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
	"github.com/fpstack/fpstack/waits"
)

// Values of SafepointSynchronize::_state. Source: src/hotspot/share/runtime/safepoint.hpp, the same since JDK 8.
const (
	synchronizing = 1 // threads are to come
	synchronized  = 2 // all have come
)

// Numbers of what threads wait for at a safepoint, which no lock has.
const (
	safepointNumber = 1 + iota
	handshakeNumber
	operationNumber
)

// rendezvous is how far the JVM is with stopping its threads.
type rendezvous struct {
	state   uint64
	instant bool
	vm      int   // our id of the VM thread, 0 if it is not known
	late    []int // numbers of threads of Java that have not come to a safepoint
}

// rendezvous reads it.
func (g *graph) rendezvous(s *snapshot.Snapshot) (at rendezvous, ok bool) {
	in := g.r.innerParts()
	if in.state == 0 || in.vmThread == 0 || len(g.all) == 0 {
		return at, false
	}
	v := &g.views[0]
	v.TakeLate()
	var err error
	if at.state, err = v.Uint(in.state, stateBytes); err != nil {
		return at, false
	}
	at.instant = !v.TakeLate() && !s.Rolling
	for i := range g.all {
		if g.all[i].State.Touches() {
			at.late = append(at.late, i)
		}
		at.instant = at.instant && g.instant[i]
	}
	at.vm = g.vmThread(s, in)
	return at, true
}

// stateBytes is the size of SafepointSynchronize::_state.
const stateBytes = 4

// vmThread is our id of the VM thread, 0 if it is not known. It is the same as long as the JVM.
func (g *graph) vmThread(s *snapshot.Snapshot, in *inner) int {
	v := g.r.lasting()
	at, err := v.Word(in.vmThread)
	if err != nil || at == 0 {
		return 0
	}
	id, err := g.j.threads.IDOf(v, mem.Addr(at))
	if err != nil {
		return 0
	}
	for i := range s.Threads {
		if t := &s.Threads[i]; t.InnerTID() == id {
			return t.TID
		}
	}
	return 0
}

// safepoint adds who waits for threads that have not come to a safepoint, or for what is done at one.
func (g *graph) safepoint(s *snapshot.Snapshot, stack func(tid int) *unwind.Stack) {
	at, ok := g.rendezvous(s)
	if !ok {
		return
	}
	shakes := at.state == 0 && g.r.partOf(stack(at.vm)) == shaking
	for i := range s.Threads {
		tid := s.Threads[i].TID
		part := g.r.partOf(stack(tid))
		held := tid == at.vm || part == blocked || part == asking
		switch {
		case !held && part == shaking:
			g.add(tid, at.lock(g, handshakeNumber, "a handshake"))
		case !held:
		case at.state == synchronizing && len(at.late) > 0:
			g.add(tid, at.lock(g, safepointNumber, "a safepoint"))
		case shakes && len(at.late) > 0:
			g.add(tid, at.lock(g, handshakeNumber, "a handshake"))
		case tid != at.vm && at.vm != 0 && (at.state == synchronized || part == asking):
			g.add(tid, operation(at.vm, at.instant))
		}
	}
}

// lock is that to which some have not come: who keeps the others waiting, if it is one.
func (at *rendezvous) lock(g *graph, number uint64, name string) waits.Lock {
	l := waits.Lock{Name: name, Kind: waits.Safepoint, Number: number, Retries: true}
	if len(at.late) == 1 {
		i := at.late[0]
		l.Owner, l.Instant = g.tids[i], at.instant
		l.Evidence = fmt.Sprintf("thread %d is %v, where it can only be stopped by itself", l.Owner, g.all[i].State)
		return l
	}
	const shown = 3
	var who []string
	for _, i := range at.late[:min(shown, len(at.late))] {
		who = append(who, fmt.Sprint(g.tids[i]))
	}
	if n := len(at.late) - shown; n > 0 {
		who = append(who, fmt.Sprintf("%d more", n))
	}
	l.Note = "to which threads " + strings.Join(who, ", ") + " have not come"
	return l
}

// operation is what the VM thread does, for which a thread waits.
func operation(vm int, instant bool) waits.Lock {
	return waits.Lock{Name: "an operation of the JVM", Kind: waits.Operation, Number: operationNumber, Owner: vm,
		Instant: instant, Evidence: "it waits in the JVM for its VM thread"}
}
