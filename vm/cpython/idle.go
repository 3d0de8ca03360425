package cpython

import (
	"strings"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// idleIn are functions of the standard library in which its threads wait for work to come, by file, and what such
// threads are called. Source: Lib/concurrent/futures/thread.py, Lib/multiprocessing/queues.py and pool.py.
var idleIn = map[[2]string]string{
	{poolFile, "_worker"}:                        "Python pool",
	{"multiprocessing/queues.py", "_feed"}:       "Python queue feeders",
	{"multiprocessing/pool.py", "_handle_tasks"}: "Python pool",
}

// Idle implements [unwind.Idler]: a thread of the standard library's that waits for a lock of a queue, and for that in
// no function but the library's. Names without the class, as releases before 3.11 have them.
func (r *Runtime) Idle(t *snapshot.Thread, s *unwind.Stack) string {
	if _, waits := futexOf(t); !waits || t.State != 'S' {
		return ""
	}
	for i := range s.Frames {
		p, ok := r.sites.Get(s.Frames[i].Site)
		if s.Frames[i].Runtime != unwind.Runtime(r) || !ok {
			continue
		}
		library := libraryFile(p.file)
		why := idleIn[[2]string{library, p.function[strings.LastIndexByte(p.function, '.')+1:]}]
		if why != "" || library != threadingFile && library != "queue.py" { // else how it waits
			return why
		}
	}
	return ""
}
