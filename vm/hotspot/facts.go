package hotspot

import (
	"errors"
	"fmt"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/hotspot/heap"
	"github.com/fpstack/fpstack/vm/hotspot/threads"
	"github.com/fpstack/fpstack/vm/view"
)

// called is a thread as it was named: names lie in objects, which move, so that one may not be readable for a moment.
type called struct {
	at   mem.Addr // the JavaThread
	id   int      // the kernel's
	name string
	java uint64 // the number that Java gives it
}

// maxCalled bounds the names of threads that are kept.
const maxCalled = 1 << 16

// ThreadFacts implements vm.ThreadDescriber: names and numbers of threads, and what virtual thread one carries.
func (r *Runtime) ThreadFacts(s *snapshot.Snapshot) map[int]profile.RuntimeThread {
	out := map[int]profile.RuntimeThread{}
	j := r.jvm.Load()
	if j == nil || j.threads == nil {
		return out
	}
	if r.listThreads(false); !r.holds(s) {
		r.listThreads(true)
	}
	known := r.roster.Load()
	if len(r.called) > maxCalled {
		clear(r.called)
	}
	for i := range s.Threads {
		t := &s.Threads[i]
		id := t.InnerTID()
		listed, ok := known.byID[id]
		if !ok || known.fields == nil {
			continue
		}
		at := listed.at
		v := view.Over(s.Reader(t, r.live), r.live, r.budget)
		v.Within(rosterSteps)
		thread, err := j.threads.Read(&v, at)
		if err != nil {
			continue
		}
		if name, java, ok := r.steadyName(&v, j, known.fields, thread.Object); ok {
			r.called[id] = called{at, id, name, java}
		}
		c := r.called[id]
		if c.at != at {
			continue
		}
		fact := profile.RuntimeThread{Language: "Java", ID: c.java, Name: c.name, State: thread.State.String()}
		if name := r.carries(&v, j, known.fields, &thread); name != "" {
			fact.Facts = append(fact.Facts, name)
		}
		out[t.TID] = fact
	}
	return out
}

// steadyName is the name of the thread whose object a slot leads to, and the number that Java gives it. What was not
// copied in the stop is read of the object where it is now, which must be there still when that is done. Of a saved
// process no more is to be had than v shows.
func (r *Runtime) steadyName(v *view.View, j *jvm, f *threadFields, slot mem.Addr) (string, uint64, bool) {
	v.TakeLate()
	_, name, id, err := j.nameAt(v, f, slot)
	if err == nil && !v.TakeLate() {
		return name, id, true
	}
	live := view.Over(nil, r.live, r.budget)
	live.Within(v.Left())
	if _, gone := j.heap.Root(&live, slot); gone != nil {
		return name, id, err == nil
	}
	object, name, id, err := j.nameAt(&live, f, slot)
	if err != nil {
		return "", 0, false
	}
	again, err := j.heap.Root(&live, slot)
	return name, id, err == nil && again == object
}

// nameAt is nameOf of the object that a slot leads to.
func (j *jvm) nameAt(v *view.View, f *threadFields, slot mem.Addr) (object mem.Addr, name string, id uint64,
	err error) {
	if object, err = j.heap.Root(v, slot); err != nil || object == 0 {
		return 0, "", 0, errors.Join(err, heap.ErrNoObject)
	}
	name, id, err = j.nameOf(v, f, object)
	return object, name, id, err
}

// carries says which virtual thread a thread runs, "" for none, or if that was not copied in the stop: threads change
// it, and its object may have moved.
func (r *Runtime) carries(v *view.View, j *jvm, f *threadFields, t *threads.Thread) string {
	if t.Virtual == 0 {
		return ""
	}
	v.TakeLate()
	own, err := j.heap.Root(v, t.Object)
	mounted, err2 := j.heap.Root(v, t.Virtual)
	if err != nil || err2 != nil || mounted == 0 || mounted == own || v.TakeLate() {
		return ""
	}
	name, id, err := j.nameOf(v, f, mounted)
	switch {
	case err != nil || v.TakeLate():
		return "runs a virtual thread, it is not known which"
	case name == "":
		return fmt.Sprintf("runs virtual thread %d", id)
	}
	return fmt.Sprintf("runs virtual thread %d %q", id, name)
}
