package golang

import (
	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// idle are the functions in which a thread of the runtime sleeps while it has no goroutine to run, and what such
// threads are called.
// Source: runtime/proc.go.
var idle = map[string]string{
	"runtime.stopm":          noGoroutine,
	"runtime.findRunnable":   noGoroutine,
	"runtime.sysmon":         "Go sysmon",
	"runtime.templateThread": "Go thread template",
	"runtime.stoplockedm":    "Go threads locked to a goroutine that waits",
	"runtime.startlockedm":   noGoroutine,
}

const noGoroutine = "Go threads without a goroutine"

// maxIdleDepth is how many frames are below those functions at most: the wait itself.
const maxIdleDepth = 6

// Idle implements [unwind.Idler]: the thread sleeps, and its innermost frames are the scheduler's.
func (r *Runtime) Idle(t *snapshot.Thread, s *unwind.Stack) string {
	if t.State != 'S' {
		return ""
	}
	for i := range s.Frames[:min(len(s.Frames), maxIdleDepth)] {
		name := r.name(s.Frames[i].LookupPC())
		if name == "" {
			return ""
		}
		if why := idle[name]; why != "" {
			return why
		}
	}
	return ""
}
