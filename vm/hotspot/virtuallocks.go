package hotspot

import (
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/view"
)

// blockers reads what threads are parked for.
func (r *virtualReader) blockers(all []virtualThread) {
	at := make([]mem.Addr, len(all))
	for i := range all {
		if _, ok := virtualStates[all[i].state&^suspended]; ok {
			at[i] = all[i].blocker.Start
		}
	}
	got, _ := r.objects(at, blockerBytes)
	for i := range all {
		all[i].blocker.Data = got[i]
	}
}

// virtualLocks finds who has the locks that virtual threads wait for.
type virtualLocks struct {
	g       *graph
	virtual map[mem.Addr]*virtualThread // by their objects
}

// say adds to f, of t, the lock that it is parked for, if that is one that a thread has alone.
func (k *virtualLocks) say(f *snapshot.Fiber, t *virtualThread) {
	if t.blocker.Data == nil || f.Wait != "" {
		return
	}
	v := view.Copied(k.g.r.budget, t.blocker)
	at, err := k.g.j.heap.Class(&v, t.blocker.Start)
	if err != nil {
		return
	}
	class := k.g.classAt(at)
	if class.err != nil {
		return
	}
	holder, err := k.g.j.heap.Reference(&v, t.blocker.Start+mem.Addr(class.owner))
	if err != nil || holder == 0 {
		return // nobody has it alone
	}
	f.Object = uint64(t.blocker.Start)
	f.State += ", for the lock " + k.g.describe(&v, t.blocker.Start)
	i := k.g.threadAt(holder)
	switch by := k.virtual[holder]; {
	case by != nil && by.name != "":
		f.HeldBy, f.State = []uint64{by.id}, f.State+fmt.Sprintf(", held by %s %d %q", virtualKind, by.id, by.name)
	case by != nil:
		f.HeldBy, f.State = []uint64{by.id}, f.State+fmt.Sprintf(", held by %s %d", virtualKind, by.id)
	case i >= 0 && k.g.instant[i]:
		f.State += fmt.Sprintf(", held by thread %d", k.g.tids[i])
	}
}
