package hotspot

import (
	"strings"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// idleIn are the methods of the JDK in which its threads wait for work to come, and what they wait for.
var idleIn = map[string]string{
	"java.util.concurrent.ThreadPoolExecutor.getTask":          "waits for work (thread pool of Java)",
	"java.util.concurrent.ForkJoinPool.awaitWork":              "waits for work (fork-join pool of Java)",
	"java.util.concurrent.ForkJoinPool.runWorker":              "waits for work (fork-join pool of Java)",
	"java.util.TimerThread.mainLoop":                           "waits for timers (Java)",
	"java.lang.ref.Reference.waitForReferencePendingList":      "waits for references (Java)",
	"java.lang.ref.Reference.processPendingReferences":         "waits for references (Java)",
	"java.lang.ref.Finalizer$FinalizerThread.run":              "waits for finalizers (Java)",
	"jdk.internal.ref.CleanerImpl.run":                         "waits for cleaners (Java)",
	"java.lang.ref.Reference.tryHandlePending":                 "waits for references (Java)",
	"java.lang.ProcessHandleImpl$1.run":                        "waits for processes (Java)",
	"sun.nio.fs.LinuxWatchService$Poller.run":                  "waits for changes of files (Java)",
	"java.util.concurrent.ScheduledThreadPoolExecutor.getTask": "waits for work (thread pool of Java)",
}

// below are prefixes of what those methods wait in.
var below = []string{"jdk.internal.misc.", "sun.misc.", "java.util.concurrent.", "java.lang.Object.wait",
	"java.lang.ref.", "jdk.internal.ref."}

// Idle implements [unwind.Idler]: a thread of a pool that has no task, and the JDK's own that wait for work.
func (r *Runtime) Idle(t *snapshot.Thread, s *unwind.Stack) string {
	if t.State != 'S' {
		return ""
	}
	if r.m != nil {
		if why := idleRoles[r.idlePart(s)]; why != "" {
			return why
		}
	}
	for i := range s.Frames {
		if s.Frames[i].Runtime != unwind.Runtime(r) {
			continue
		}
		for _, f := range r.list(s.Frames[i].Site) {
			if why := idleIn[f.Func]; why != "" {
				return why
			}
			if !f.Stub && !begins(f.Func, below) {
				return ""
			}
		}
	}
	return ""
}

func begins(name string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
