package cpython

import (
	"fmt"
	"slices"
	"strings"

	"github.com/fpstack/fpstack/mem"
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/vm/cpython/object"
	"github.com/fpstack/fpstack/vm/view"
	"github.com/fpstack/fpstack/waits"
)

// awaited is what a thread waits for in a function of the standard library that waits by a lock which nobody holds: by
// the file and the function, and where functions of several classes have that name by the class of self.
type awaited struct {
	file, function string
	classes        []string // any of them; none: whatever self is
	what           string
	kind           waits.Kind
}

// awaitedBy lists them. Of several on a stack it is the outermost of those that follow one another: the result of a
// Future is waited for by a Condition.
//
// Source: Lib/threading.py, queue.py, concurrent/futures/_base.py, multiprocessing/pool.py, multiprocessing/queues.py.
var awaitedBy = []awaited{
	{threadingFile, "wait", []string{"Condition"}, "a notify of a Condition", waits.Notify},
	{threadingFile, "wait", []string{"Event"}, "an Event", waits.Happening},
	{threadingFile, "wait", []string{"Barrier"}, "the others of a Barrier", waits.Barrier},
	{threadingFile, "acquire", []string{"Semaphore", "BoundedSemaphore"}, "a Semaphore", waits.Semaphore},
	{"queue.py", "get", nil, "an item of a queue", waits.Item},
	{"queue.py", "put", nil, "room in a queue", waits.Room},
	{"queue.py", "join", nil, "the work of a queue to be done", waits.Notify},
	{futuresFile, "result", nil, "the result of a Future", waits.Result},
	{futuresFile, "exception", nil, "the result of a Future", waits.Result},
	{futuresFile, "wait", nil, "the results of Futures", waits.Result},
	{futuresFile, "as_completed", nil, "the results of Futures", waits.Result},
	{"multiprocessing/pool.py", "get", nil, "a result of a Pool", waits.Result},
	{"multiprocessing/pool.py", "wait", nil, "a result of a Pool", waits.Result},
	{"multiprocessing/pool.py", "next", nil, "a result of a Pool", waits.Result},
	{"multiprocessing/queues.py", "_feed", nil, "an item to send to other processes", waits.Item},
}

const (
	threadingFile = "threading.py"
	futuresFile   = "concurrent/futures/_base.py"
	poolFile      = "concurrent/futures/thread.py"
)

// awaitedFrames is how many of the innermost frames are looked at: Barrier.wait has five within the library.
const awaitedFrames = 8

// awaitedIn is what t waits for by a lock that is none of the program's own: what, of which object if that is known.
func (r *Runtime) awaitedIn(t *snapshot.Thread, search, m *view.View) (found *awaited, of mem.Addr) {
	frames := r.innermostFrames(t, m, awaitedFrames)
	for i := range frames {
		f := &frames[i]
		function, file, ok := r.functionOf(f, search)
		if !ok {
			break
		}
		library := libraryFile(file)
		if library == "" {
			break
		}
		self := r.selfOf(f, m)
		for k := range awaitedBy {
			a := &awaitedBy[k]
			if a.file == library && a.function == function && r.isOf(self, a.classes, search) {
				found, of = a, self
			}
		}
	}
	return found, of
}

// functionOf is the name and the file of the function that f runs.
func (r *Runtime) functionOf(f *object.Frame, m *view.View) (function, file string, ok bool) {
	name, ok := object.Pointer(m, f.Code+mem.Addr(r.layout.Code.Name))
	at, ok2 := object.Pointer(m, f.Code+mem.Addr(r.layout.Code.Filename))
	if !ok || !ok2 {
		return "", "", false
	}
	function, ok = r.layout.StringAt(m, name)
	file, ok2 = r.layout.StringAt(m, at)
	return function, file, ok && ok2
}

// selfOf is the variable self of f, 0 where it has none.
func (r *Runtime) selfOf(f *object.Frame, m *view.View) mem.Addr { return r.variableOf(f, "self", m) }

// variableOf is the local variable of f with that name, 0 where it has none.
func (r *Runtime) variableOf(f *object.Frame, name string, m *view.View) (found mem.Addr) {
	r.layout.Variables(m, f, func(one string, value mem.Addr) bool {
		if one == name {
			found = value
		}
		return found == 0
	})
	return found
}

// isOf reports whether the object at a is of one of those classes, or of any if there are none.
func (r *Runtime) isOf(a mem.Addr, classes []string, m *view.View) bool {
	if len(classes) == 0 {
		return true
	}
	t, ok := r.layout.TypeOf(m, a)
	return ok && slices.Contains(classes, t.Name)
}

// libraries are files of the standard library whose functions wait by locks or are called by those that do.
var libraries = []string{futuresFile, "concurrent/futures/thread.py", "multiprocessing/pool.py",
	"multiprocessing/queues.py", threadingFile, "queue.py"}

// libraryFile is which of those a file is, by its path within the standard library; "" for none, as another's file of
// that name.
func libraryFile(file string) string {
	if frozen, ok := strings.CutPrefix(file, "<frozen "); ok {
		file = "/Lib/" + strings.ReplaceAll(strings.TrimSuffix(frozen, ">"), ".", "/") + ".py"
	}
	for _, l := range libraries {
		folder, ok := strings.CutSuffix(file, "/"+l)
		if !ok {
			continue
		}
		if base := folder[strings.LastIndexByte(folder, '/')+1:]; strings.HasPrefix(base, "python") || base == "Lib" {
			return l
		}
	}
	return ""
}

// name is what a person reads.
func (a *awaited) name(of mem.Addr) string {
	if of == 0 {
		return a.what
	}
	return fmt.Sprintf("%s %#x", a.what, uint64(of))
}
