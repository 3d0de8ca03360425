package hotspot

import (
	"path"
	"strings"

	"github.com/fpstack/fpstack/snapshot"
	"github.com/fpstack/fpstack/unwind"
)

// What threads that wait for work are called.
const (
	idlePool    = "Java thread pool"
	idleTimers  = "Java timers"
	idleService = "Java services" // one thread, for one kind of work
)

// idleIn are the methods in which threads of the JDK and of libraries wait for work to come, and what such threads are
// called. An event loop is not among them: whom it waits for says something of the process.
var idleIn = map[string]string{
	"java.util.concurrent.ThreadPoolExecutor.getTask":          idlePool,
	"java.util.concurrent.ForkJoinPool.awaitWork":              "Java fork-join pool",
	"java.util.concurrent.ForkJoinPool.runWorker":              "Java fork-join pool",
	"java.util.TimerThread.mainLoop":                           idleTimers,
	"java.util.concurrent.DelayScheduler.loop":                 idleTimers,
	"java.lang.ref.Reference.waitForReferencePendingList":      "Java finalizers",
	"java.lang.ref.Reference.processPendingReferences":         "Java finalizers",
	"java.lang.ref.Finalizer$FinalizerThread.run":              "Java finalizers",
	"jdk.internal.ref.CleanerImpl.run":                         "Java finalizers",
	"java.lang.ref.Reference.tryHandlePending":                 "Java finalizers",
	"java.lang.ProcessHandleImpl$1.run":                        "Java processes",
	"sun.nio.fs.LinuxWatchService$Poller.run":                  "Java file watcher",
	"java.lang.VirtualThread.takeVirtualThreadListToUnblock":   idleService,
	"java.util.concurrent.ScheduledThreadPoolExecutor.getTask": idlePool,

	"org.eclipse.jetty.util.thread.QueuedThreadPool$Runner.idleJobPoll":                idlePool,
	"org.eclipse.jetty.util.thread.ReservedThreadExecutor$ReservedThread.reservedWait": idlePool,

	"org.apache.tomcat.util.threads.ThreadPoolExecutor.getTask": idlePool,

	"io.netty.util.concurrent.SingleThreadEventExecutor.takeTask": idlePool,
	"io.netty.util.concurrent.GlobalEventExecutor.takeTask":       idlePool,
	"io.netty.util.HashedWheelTimer$Worker.waitForNextTick":       idleTimers,

	"kafka.network.RequestChannel.receiveRequest":                                       idlePool,
	"kafka.server.ClientQuotaManager$ThrottledChannelReaper.doWork":                     idleTimers,
	"org.apache.kafka.queue.KafkaEventQueue$EventHandler.handleEvents":                  idleService,
	"org.apache.kafka.raft.internals.BlockingMessageQueue.poll":                         idleService,
	"org.apache.kafka.server.util.ShutdownableThread.pause":                             idleTimers,
	"org.apache.kafka.server.util.timer.SystemTimer.advanceClock":                       idleTimers,
	"org.apache.kafka.storage.internals.log.LogDirFailureChannel.takeNextOfflineLogDir": idleService,

	"org.apache.derby.impl.services.daemon.BasicDaemon.rest": idleService,
}

// below are prefixes of what those methods wait in.
var below = []string{"jdk.internal.misc.", "sun.misc.", "java.util.concurrent.", "java.lang.Object.wait",
	"java.lang.Thread.sleep", "java.lang.ref.", "jdk.internal.ref.", "org.eclipse.jetty.util.BlockingArrayQueue.",
	"org.apache.tomcat.util.threads.TaskQueue."}

// Idle implements [unwind.Idler]: a thread of a pool that has no task, the JDK's own that wait for work, and the one
// that has started the JVM.
func (r *Runtime) Idle(t *snapshot.Thread, s *unwind.Stack) string {
	if t.State != 'S' {
		return ""
	}
	if r.launches(s) {
		return "Java launcher"
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

// launcher is the library of the programs of a JDK. It makes the JVM in a new thread, and does nothing then but wait
// for the end of that.
// Source: ContinueInNewThread in src/java.base/share/native/libjli/java.c.
const launcher = "libjli.so"

// launches reports whether the stack of a thread is of the launcher, which waits: a JVM has begun in another thread.
func (r *Runtime) launches(s *unwind.Stack) bool {
	if s.Stop != unwind.Root || r.jvm.Load() == nil {
		return false
	}
	is := false
	for i := range s.Frames {
		f := &s.Frames[i]
		if f.Runtime != nil || f.Module == nil || f.Module == r.m {
			return false
		}
		is = is || path.Base(f.Module.Path) == launcher
	}
	return is
}

func begins(name string, prefixes []string) bool {
	for _, p := range prefixes {
		if strings.HasPrefix(name, p) {
			return true
		}
	}
	return false
}
