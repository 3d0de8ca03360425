package coreclr

import (
	"unicode/utf16"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/profile"
	"github.com/fpstack/fpstack/snapshot"
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

// threads lists the threads of the runtime, by m; those before the first that cannot be read.
func (r *Runtime) threads(m mem.Reader) []clrThread {
	l := r.layout
	store, ok := r.variable(l.threadStore)
	if !ok || l.storeFirst == unknown {
		return nil
	}
	var list []clrThread
	link := mem.Addr(fields{m: m, at: store}.pointer(l.storeFirst))
	for link != 0 && len(list) < maxThreads {
		f := fields{m: m, at: link - mem.Addr(l.threadLink)}
		t := clrThread{at: f.at, os: int(f.uint(l.threadOSID, 4)), id: uint32(f.uint(l.threadID, 4))}
		link = mem.Addr(f.word(l.threadLink))
		if f.err != nil {
			break
		}
		list = append(list, t)
	}
	return list
}

// variable is what a variable of the runtime has; false for 0 and where that is not known.
func (r *Runtime) variable(v variable) (mem.Addr, bool) {
	at := v.at
	if at == 0 {
		if v.slot == unknown {
			return 0, false
		}
		at = mem.Addr(fields{m: r.memory, at: r.slots}.pointer(v.slot * wordSize))
	}
	value := mem.Addr(fields{m: r.memory, at: at}.pointer(0))
	return value, value != 0
}

// ThreadFacts implements vm.ThreadDescriber: managed ids and names of threads.
func (r *Runtime) ThreadFacts(s *snapshot.Snapshot) map[int]profile.RuntimeThread {
	known := map[int]clrThread{}
	for _, t := range r.threads(r.memory) {
		if t.os != 0 {
			known[t.os] = t
		}
	}
	out := map[int]profile.RuntimeThread{}
	for i := range s.Threads {
		if t, ok := known[s.Threads[i].InnerTID()]; ok {
			out[s.Threads[i].TID] = profile.RuntimeThread{Language: ".NET", ID: uint64(t.id),
				Name: r.threadName(r.memory, t)}
		}
	}
	return out
}

// threadName is the name that the program gave t, "" for none and where it cannot be read.
func (r *Runtime) threadName(m mem.Reader, t clrThread) string {
	handle := mem.Addr(fields{m: m, at: t.at}.pointer(r.layout.threadObject))
	name, ok := r.nameOfThread(m, handle, t)
	if !ok {
		return ""
	}
	text := r.stringAt(m, name)
	// The collector may have moved it meanwhile.
	if again, ok := r.nameOfThread(m, handle, t); !ok || again != name {
		return ""
	}
	return text
}

// nameOfThread is the string that the object of t has as its name, by a handle to that object.
func (r *Runtime) nameOfThread(m mem.Reader, handle mem.Addr, t clrThread) (mem.Addr, bool) {
	l := r.layout
	h := fields{m: m, at: handle}
	o := fields{m: m, at: mem.Addr(h.word(0)), err: h.err}
	thread, id, name := mem.Addr(o.word(l.objectThread)), uint32(o.uint(l.objectID, 4)), mem.Addr(o.word(l.objectName))
	return name, o.err == nil && thread == t.at && id == t.id && name != 0
}

// stringAt is the String object at a, "" if none is there.
func (r *Runtime) stringAt(m mem.Reader, a mem.Addr) string {
	table, ok := r.variable(r.layout.stringTable)
	f := fields{m: m, at: a}
	if is := mem.Addr(f.word(0)) &^ tableMarks; !ok || f.err != nil || is != table {
		return ""
	}
	n := f.uint(stringLength, 4)
	b := make([]byte, 2*min(n, maxThreadName))
	if _, err := m.ReadMem(b, a+stringUnits); err != nil || f.err != nil {
		return ""
	}
	units := make([]uint16, len(b)/2)
	for i := range units {
		units[i] = order.Uint16(b[2*i:])
	}
	return string(utf16.Decode(units))
}
