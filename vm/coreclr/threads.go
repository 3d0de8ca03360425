package coreclr

import (
	"cmp"
	"errors"
	"fmt"
	"unicode/utf16"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/view"
)

// The runtime lists its threads, with the id that the kernel gave each of them in the pid namespace of the process, and
// a handle to the object that programs know as Thread.CurrentThread. That leads back to the thread, and has its id
// again: so an object that the garbage collector is moving is no other thread's.
//
// Source: class Thread in src/coreclr/vm/threads.h; class ThreadBaseObject in src/coreclr/vm/object.h;
// docs/design/datacontracts/Thread.md.
const (
	maxThreads    = 1 << 16
	maxThreadName = 1 << 10 // units of UTF-16
	stringLength  = 8
	stringUnits   = 12
)

// clrThread is a thread as the runtime lists it.
type clrThread struct {
	at mem.Addr // the runtime's Thread
	os int      // id that the kernel gave it, in the pid namespace of the process; 0 before it runs and after
	id uint32   // managed id
}

// threads lists the threads of the runtime, by v. An error comes with those before the first that cannot be read.
func (r *Runtime) threads(v *view.View) ([]clrThread, error) {
	l := r.layout
	store, err := r.variable(l.threadStore)
	if err != nil || min(l.storeFirst, l.threadLink, l.threadOSID, l.threadID) == unknown {
		return nil, cmp.Or(err, errVariable)
	}
	var list []clrThread
	head := v.Fields(store)
	link, err := head.Addr(l.storeFirst), head.Err
	for link != 0 {
		f := v.Fields(link - mem.Addr(l.threadLink))
		t := clrThread{at: f.At, os: int(f.Uint(l.threadOSID, 4)), id: uint32(f.Uint(l.threadID, 4))}
		if link = f.Addr(l.threadLink); f.Err == nil && len(list) == maxThreads {
			f.Err = errBounds
		}
		if err = f.Err; err != nil {
			break
		}
		list = append(list, t)
	}
	if err != nil {
		err = fmt.Errorf("list its threads: %w", err)
	}
	return list, err
}

var errVariable = errors.New("it is not known where they are")

// variable is what a variable of the runtime has, which is an address.
func (r *Runtime) variable(x variable) (mem.Addr, error) {
	v, at := view.Lasting(r.live, r.budget), x.at
	if at == 0 {
		if x.slot == unknown {
			return 0, errVariable
		}
		slot, err := v.Word(r.slots + mem.Addr(x.slot*wordSize))
		if err != nil {
			return 0, err
		}
		at = mem.Addr(slot)
	}
	value, err := v.Word(at)
	if err == nil && value == 0 {
		err = errVariable
	}
	return mem.Addr(value), err
}

// ThreadFacts implements vm.ThreadDescriber: managed ids and names of threads.
func (r *Runtime) ThreadFacts(s *snapshot.Snapshot) map[int]profile.RuntimeThread {
	known := map[int]clrThread{}
	v := view.Over(nil, r.live, r.budget)
	v.Within(stackSteps)
	threads, _ := r.threads(&v) // of the others nothing is said
	for _, t := range threads {
		if t.os != 0 {
			known[t.os] = t
		}
	}
	out := map[int]profile.RuntimeThread{}
	for i := range s.Threads {
		if t, ok := known[s.Threads[i].InnerTID()]; ok {
			out[s.Threads[i].TID] = profile.RuntimeThread{Language: ".NET", ID: uint64(t.id),
				Name: r.threadName(&v, t)}
		}
	}
	return out
}

// threadName is the name that the program gave t, "" for none and where it cannot be read.
func (r *Runtime) threadName(v *view.View, t clrThread) string {
	if r.layout.threadObject == unknown {
		return ""
	}
	f := v.Fields(t.at)
	handle := f.Addr(r.layout.threadObject)
	name, ok := r.nameOfThread(v, handle, t)
	if !ok {
		return ""
	}
	text := r.stringAt(v, name)
	// The collector may have moved it meanwhile.
	if again, ok := r.nameOfThread(v, handle, t); !ok || again != name {
		return ""
	}
	return text
}

// nameOfThread is the string that the object of t has as its name, by a handle to that object.
func (r *Runtime) nameOfThread(v *view.View, handle mem.Addr, t clrThread) (mem.Addr, bool) {
	l := r.layout
	h := v.Fields(handle)
	o := view.Fields{View: v, At: h.Addr(0), Err: h.Err}
	thread, id, name := o.Addr(l.objectThread), uint32(o.Uint(l.objectID, 4)), o.Addr(l.objectName)
	return name, o.Err == nil && thread == t.at && id == t.id && name != 0
}

// stringAt is the String object at a, "" if none is there.
func (r *Runtime) stringAt(v *view.View, a mem.Addr) string {
	table, err := r.variable(r.layout.stringTable)
	f := v.Fields(a)
	is, n := f.Addr(0)&^tableMarks, f.Uint(stringLength, 4)
	if err != nil || f.Err != nil || is != table {
		return ""
	}
	b, ok := v.Bytes(a+stringUnits, int(2*min(n, maxThreadName)))
	if !ok {
		return ""
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	text := string(utf16.Decode(units))
	if n > maxThreadName {
		text += "…"
	}
	return text
}
