package coreclr

import (
	"path"
	"strings"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// The runtime gives its own threads names that begin so; those that execute methods get them from its library.
//
// Source: src/coreclr/pal/src/thread/process.cpp, src/native/eventpipe/ds-server.c,
// src/native/libs/System.Native/pal_signal.c, src/coreclr/debug/ee/rcthread.cpp, src/coreclr/vm/tieredcompilation.cpp.
const ownThread = ".NET "

// nativeLibrary is the runtime's library in C, where it is a file of its own. One thread of it hands out signals.
const nativeLibrary = "libSystem.Native.so"

// Idle implements [unwind.Idler]: a thread of the runtime's own that waits, for the debugger, for who asks it
// something, for signals, for objects to finalize: it is named so, and nothing but the runtime is on its whole stack.
func (r *Runtime) Idle(t *snapshot.Thread, s *unwind.Stack) string {
	if t.State != 'S' || !strings.HasPrefix(t.Comm, ownThread) || s.Stop != unwind.Root || r.o.m == nil {
		return ""
	}
	ours := false
	for i := range s.Frames {
		f := &s.Frames[i]
		switch {
		case f.Runtime != nil || f.Module == nil:
			return ""
		case f.Module.Object() == r.o.m.Object(), path.Base(f.Module.Path) == nativeLibrary:
			ours = true
		}
	}
	if !ours {
		return ""
	}
	return ".NET runtime"
}
