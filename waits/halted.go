package waits

import (
	"fmt"
	"strings"
)

// halted adds to w what keeps the thread from going on whatever it waits for: it is stopped by a signal, its tracer has
// it, or its control group is frozen.
func (s *study) halted(t *Thread, w *Wait) {
	what := Wait{TID: t.TID, Mode: Outside}
	switch {
	case t.State == 'T':
		what.Object, what.Note = Object{Kind: kindSigcont}, "it is stopped by a signal"
	case t.State == 't':
		st, ok := s.state(t.Process.PID)
		if !ok {
			return
		}
		what.Object, what.Note = Object{Kind: kindTracer}, "it is stopped by its tracer"
		if st.Tracer > 0 {
			what.Object.Name, what.Certainty = fmt.Sprintf("process %d \"%s\"", st.Tracer, st.TracerComm), Shown
			what.Note = "it is stopped by " + what.Object.Name
			s.byProcesses(&what, []int{st.Tracer})
		}
	case strings.HasPrefix(t.Wchan, "get_signal"), strings.HasPrefix(t.Wchan, "do_freezer_trap"),
		strings.HasPrefix(t.Wchan, "__refrigerator"), t.State == 'D': // the last as version 1 freezes sleepers
		st, ok := s.state(t.Process.PID)
		if !ok || st.Frozen == "" {
			return
		}
		what.Object = Object{Kind: kindThaw, Name: st.Frozen}
		what.Note = "its control group " + st.Frozen + " is frozen"
	default:
		return
	}
	if w.Mode == One || w.Mode == All || w.Mode == Any && len(w.Wakers) > 0 && w.Unlisted == "" {
		// What it waits for is missing all the same: a deadlock stays one.
		if w.Note == "" {
			w.Note = what.Note
		}
		return
	}
	if what.Object.Name != "" {
		what.Note = ""
	}
	*w = what
}
