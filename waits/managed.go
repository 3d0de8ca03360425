package waits

import (
	"slices"
	"strings"

	"github.com/fpstack/fpstack/profile"
)

// managedRuntime is what is known of the waits of a language with a runtime, by what the methods of its own library are
// called which threads wait in; below them is a condition variable of the C library, which says nothing of what is
// waited for.
type managedRuntime struct {
	// libraries begin the names of those methods, and of what they call.
	libraries []string
	// waits are the methods that programs call, each with those that it calls itself. Of several on a stack it is the
	// outermost: a task is waited for by an event, and that by a monitor.
	waits []managedWait
	sleep string // the method that waits for time
	wakes Kind   // what ends that without a limit of time
}

// managedWait is a wait that the beginning of a method's name shows.
type managedWait struct {
	method string
	kind   Kind
	mode   Mode
}

const (
	threading   = "System.Threading."
	concurrent  = "java.util.concurrent."
	commonsPool = "org.apache.commons.pool2.impl."
	tomcatPool  = "org.apache.tomcat.jdbc.pool."
	hikariBag   = "com.zaxxer.hikari.util.ConcurrentBag."
)

var managedRuntimes = []managedRuntime{
	{libraries: []string{threading}, sleep: "Thread.Sleep", wakes: kindNetInterrupt, waits: []managedWait{
		{threading + "Tasks.Task.", kindNetTask, Any},
		{threading + "SemaphoreSlim.", kindNetSemaphore, Any},
		{threading + "ManualResetEventSlim.", kindNetEvent, Any},
		{threading + "CountdownEvent.", kindNetCountdown, Any},
		{threading + "Barrier.", kindNetBarrier, Any},
		{threading + "ReaderWriterLockSlim.", kindNetRwLock, Any},
		{threading + "Lock.", kindNetLock, Any},
		{threading + "Monitor.Wait", kindNetPulse, Any},
		{threading + "Monitor.", kindNetMonitor, Any},
		{threading + "Thread.Join", kindThreadEnd, Any},
		{threading + "Thread.Sleep", kindTime, Time},
		{threading + "WaitHandle.", kindNetHandle, Any},
		{threading + "LowLevelLifoSemaphore.", kindNetWork, Idle},
		{threading + "PortableThreadPool.", kindNetWork, Idle},
		{threading + "TimerQueue.", kindNetTimers, Idle},
	}},
	// Of pools of connections only the methods that wait: others run tasks and call drivers.
	{libraries: []string{concurrent, "java.lang.Object.wait", "java.lang.Thread.", "jdk.internal.misc.", "sun.misc.",
		"java.util.TimerThread.", hikariBag, commonsPool + "LinkedBlockingDeque.", commonsPool + "GenericObjectPool.",
		tomcatPool + "FairBlockingQueue.", tomcatPool + "ConnectionPool.borrowConnection"},
		sleep: "Thread.sleep", waits: []managedWait{
			{concurrent + "ThreadPoolExecutor.getTask", kindJavaPool, Idle},
			{concurrent + "ForkJoinPool.awaitWork", kindJavaForkJoin, Idle},
			{concurrent + "ForkJoinPool.runWorker", kindJavaForkJoin, Idle},
			{"java.util.TimerThread.mainLoop", kindJavaTimers, Idle},
			{hikariBag + "borrow", kindHikari, Any},
			{commonsPool + "GenericObjectPool.borrowObject", kindCommonsPool, Any},
			{tomcatPool + "ConnectionPool.borrowConnection", kindTomcatPool, Any},
			{concurrent + "CompletableFuture.", kindJavaCompletable, Any},
			{concurrent + "FutureTask.", kindJavaFuture, Any},
			{concurrent + "ForkJoinTask.", kindJavaTask, Any},
			{concurrent + "Semaphore.", kindJavaSemaphore, Any},
			{concurrent + "CountDownLatch.", kindJavaLatch, Any},
			{concurrent + "CyclicBarrier.", kindJavaBarrier, Any},
			{concurrent + "Phaser.", kindJavaPhaser, Any},
			{concurrent + "Exchanger.", kindJavaExchanger, Any},
			{concurrent + "LinkedBlockingQueue.", kindJavaLinkedQueue, Any},
			{concurrent + "ArrayBlockingQueue.", kindJavaArrayQueue, Any},
			{concurrent + "SynchronousQueue.", kindJavaHandover, Any},
			{concurrent + "locks.AbstractQueuedSynchronizer$ConditionObject.", kindJavaCondition, Any},
			{concurrent + "locks.ReentrantReadWriteLock$", kindJavaRwLock, Any},
			{concurrent + "locks.LockSupport.park", kindJavaUnpark, Any},
			{"java.lang.Thread.join", kindThreadEnd, Any},
			{"java.lang.Thread.sleep", kindTime, Time},
			{"java.lang.Object.wait", kindJavaNotify, Any},
		}},
}

// deepestManaged is how many of the innermost functions are looked at: some ten of the runtime come before the methods.
const deepestManaged = 40

// managed recognises a wait of .NET or Java by the methods on the stack.
func (s *study) managed(f *futexCall, w *Wait) bool {
	for i := range managedRuntimes {
		if found, method := managedRuntimes[i].find(f.t.Stack); found != nil {
			s.byMethod(&managedRuntimes[i], found, method, f, w)
			return true
		}
	}
	return false
}

// ByMethods is what the methods of a stack, innermost first, say that it waits for, where they are of the libraries of
// .NET or Java: in words, "" for nothing or if unknown, and the sort. It is for a thread that its runtime keeps in
// memory of its own, of which no system call says more.
func ByMethods(stack []string) (noun string, sort profile.WaitSort) {
	for i := range managedRuntimes {
		if found, _ := managedRuntimes[i].find(stack); found != nil && found.mode != Idle {
			return found.kind.Noun, found.kind.Sort
		}
	}
	return "", ""
}

// find is the wait that a stack shows, and the method that shows it; nil for none.
func (r *managedRuntime) find(stack []string) (found *managedWait, method string) {
	for _, name := range stack[:min(deepestManaged, len(stack))] {
		ours := slices.ContainsFunc(r.libraries, func(l string) bool { return strings.HasPrefix(name, l) })
		if !ours && found != nil && !strings.HasPrefix(name, "[") { // a stub
			break
		}
		if !ours {
			continue
		}
		i := slices.IndexFunc(r.waits, func(m managedWait) bool { return strings.HasPrefix(name, m.method) })
		if i >= 0 {
			found, method = &r.waits[i], name
		}
	}
	return found, method
}

// byMethod makes w the wait that a method shows.
func (s *study) byMethod(r *managedRuntime, found *managedWait, method string, f *futexCall, w *Wait) {
	s.anybody(f, w)
	w.Object.Kind, w.Object.Addr = found.kind, 0
	w.Evidence = append(w.Evidence, "it is in "+method)
	switch {
	case found.mode == Idle:
		w.Mode, w.Wakers, w.Object.Name = Idle, nil, found.kind.Noun
	case found.mode == Time && w.Timed:
		w.Mode, w.Wakers, w.Object.Name = Time, nil, "sleeps in "+r.sleep
	case found.mode == Time:
		w.Object.Kind, w.Note = r.wakes, "it sleeps without a time limit"
	}
}
