package hotspot

import (
	"errors"
	"slices"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/hotspot/heap"
	"github.com/fpstack/fpstack/vm/hotspot/threads"
	"github.com/fpstack/fpstack/vm/view"
)

// roster is the threads of Java as they were listed last, for Copy too: by the number that the kernel gave them.
type roster struct {
	all    []mem.Addr
	byID   map[int]listedThread
	fields *threadFields // nil before an object of a thread could be read
}

// listedThread is where a thread was, and what of it is read in a stop, by one read: its objects may have moved since,
// so that who reads them follows them again.
type listedThread struct {
	at    mem.Addr
	parts [4]snapshot.Want
}

// listed is t with what look reads of it.
func (j *jvm) listed(v *view.View, f *threadFields, t *threads.Thread) listedThread {
	out := listedThread{at: t.At}
	out.parts[0] = snapshot.Want{Addr: t.At, Len: j.threads.Bytes}
	out.parts[1].Addr, out.parts[1].Len = j.threads.IDAt(t)
	out.parts[2] = snapshot.Want{Addr: t.Object, Len: wordSize}
	if object, err := j.heap.Root(v, t.Object); err == nil && object != 0 && f != nil && f.blocker >= 0 {
		out.parts[3] = snapshot.Want{Addr: object + mem.Addr(f.blocker), Len: j.heap.RefBytes()}
	}
	return out
}

// threadFields are where objects of java.lang.Thread and String have what is read of them; -1 is unknown.
type threadFields struct {
	name, id, blocker int64
	stringClass       mem.Addr
	value, coder      int64
}

// Names of classes and fields of Java.
const (
	threadClass = "java/lang/Thread"
	stringClass = "java/lang/String"
	ownerField  = "exclusiveOwnerThread" // of java.util.concurrent.locks.AbstractOwnableSynchronizer
	maxSupers   = 64
)

// rosterSteps bounds what is read for a list of threads.
const rosterSteps = 64 << 20

// listThreads lists the threads anew if others are there than were, as far as their addresses tell, or if again is set.
func (r *Runtime) listThreads(again bool) {
	j := r.jvm.Load()
	if j == nil || j.threads == nil {
		return
	}
	v := view.Over(nil, r.live, r.budget)
	v.Within(rosterSteps)
	had := r.roster.Load()
	all, _ := j.threads.List(&v) // of the others nothing is said
	if !again && had.fields != nil && slices.Equal(all, had.all) {
		return
	}
	now := &roster{all: all, byID: map[int]listedThread{}, fields: had.fields}
	for _, at := range all {
		t, err := j.threads.Read(&v, at)
		if err != nil {
			continue
		}
		if now.fields == nil {
			now.fields, _ = j.fieldsOf(&v, &t)
		}
		if id, err := j.threads.ID(&v, &t); err == nil && id != 0 {
			now.byID[id] = j.listed(&v, now.fields, &t)
		}
	}
	r.roster.Store(now)
}

// holds reports whether the threads that are listed are those of s.
func (r *Runtime) holds(s *snapshot.Snapshot) bool {
	j, known := r.jvm.Load(), r.roster.Load()
	found := 0
	for i := range s.Threads {
		id := s.Threads[i].InnerTID()
		if listed, ok := known.byID[id]; ok {
			v := view.Over(s.Reader(&s.Threads[i], r.live), r.live, r.budget)
			if now, err := j.threads.IDOf(&v, listed.at); err != nil || now != id {
				return false
			}
			found++
		}
	}
	return found == len(known.byID)
}

// fieldsOf learns where fields are from the object of a thread.
func (j *jvm) fieldsOf(v *view.View, t *threads.Thread) (*threadFields, error) {
	object, err := j.heap.Root(v, t.Object)
	if err != nil {
		return nil, err
	}
	class, err := j.classNamed(v, object, threadClass)
	if err != nil {
		return nil, err
	}
	f := &threadFields{id: -1, blocker: -1, coder: -1}
	if f.name, err = j.meta.Field(v, class, "name"); err != nil {
		return nil, err
	}
	for name, to := range map[string]*int64{"tid": &f.id, "parkBlocker": &f.blocker} {
		if at, err := j.meta.Field(v, class, name); err == nil {
			*to = at
		}
	}
	text, err := j.heap.Reference(v, object+mem.Addr(f.name))
	if err != nil {
		return nil, err
	}
	if f.stringClass, err = j.classNamed(v, text, stringClass); err != nil {
		return nil, err
	}
	if f.value, err = j.meta.Field(v, f.stringClass, "value"); err != nil {
		return nil, err
	}
	if at, err := j.meta.Field(v, f.stringClass, "coder"); err == nil {
		f.coder = at
	}
	return f, nil
}

var errClass = errors.New("the object is of another class")

// classNamed is the class of that name among those that the object at an address is of: its own and what that extends.
func (j *jvm) classNamed(v *view.View, object mem.Addr, name string) (mem.Addr, error) {
	class, err := j.heap.Class(v, object)
	for range maxSupers {
		if err != nil {
			return 0, err
		}
		if class == 0 {
			return 0, errClass
		}
		is, err := j.meta.ClassName(v, class)
		if err != nil {
			return 0, err
		}
		if is == name {
			return class, nil
		}
		if class, err = j.meta.Super(v, class); err != nil {
			return 0, err
		}
	}
	return 0, errClass
}

// textOf is the text of the String at an address.
func (j *jvm) textOf(v *view.View, f *threadFields, text mem.Addr) (string, error) {
	head := v.Near(text, int(max(f.value+wordSize, f.coder+1)))
	class, err := j.heap.Class(head, text)
	if err != nil {
		return "", err
	}
	if class != f.stringClass {
		return "", heap.ErrNoObject
	}
	array, err := j.heap.Reference(head, text+mem.Addr(f.value))
	if err != nil {
		return "", err
	}
	if f.coder < 0 {
		return j.heap.Chars(v, array)
	}
	coder, err := head.Uint(text+mem.Addr(f.coder), 1)
	if err != nil {
		return "", err
	}
	return j.heap.Text(v, array, coder != 0)
}

// nameOf is the name of the thread whose object is at an address, and its number.
func (j *jvm) nameOf(v *view.View, f *threadFields, object mem.Addr) (name string, id uint64, err error) {
	head := v.Near(object, int(max(f.name, f.id)+wordSize))
	text, err := j.heap.Reference(head, object+mem.Addr(f.name))
	if err != nil {
		return "", 0, err
	}
	if f.id >= 0 {
		if id, err = head.Word(object + mem.Addr(f.id)); err != nil {
			return "", 0, err
		}
	}
	name, err = j.textOf(v, f, text)
	return name, id, err
}
