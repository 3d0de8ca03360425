package waits

import (
	"testing"
	"time"
)

// TestManaged: what a thread of .NET waits for is told by the outermost method of the library's own that it waits in.
func TestManaged(t *testing.T) {
	const task, inner, wait = "System.Threading.Tasks.Task.", "System.Threading.ManualResetEventSlim.Wait",
		"System.Threading.Monitor.Wait"
	native := []string{"__futex_abstimed_wait_common", "pthread_cond_wait", "", "", "", "", ""}
	for _, c := range []struct {
		name    string
		methods []string
		words   string
	}{
		{"a task", []string{wait, inner, task + "SpinThenBlockingWait", task + "InternalWaitCore", "Shop.Cart.Total",
			"System.Threading.Thread.StartCallback"}, "waits for a task"},
		{"a semaphore by which a task waits", []string{wait, "System.Threading.SemaphoreSlim.Wait", "Shop.Cart.Total",
			task + "InnerInvoke"}, "waits for a SemaphoreSlim"},
		{"below a stub", []string{"[IL_STUB_PInvoke]", "System.Threading.WaitHandle.WaitOneNoCheck",
			"System.Threading.WaitHandle.WaitOne", "Shop.Cart.Total"}, "waits for a WaitHandle"},
		{"a thread", []string{"System.Threading.Thread.Join", "Shop.Cart.Total"}, "waits for the end of a thread"},
		{"no work", []string{"System.Threading.LowLevelLifoSemaphore.WaitForSignal",
			"System.Threading.LowLevelLifoSemaphore.Wait", "System.Threading.PortableThreadPool.WorkerThread.Start"},
			"idle: .NET thread pool"},
		{"sleeps", []string{"System.Threading.Thread.Sleep", "Shop.Cart.Total"},
			"waits for Thread.Interrupt, it sleeps without a time limit"},
		{"a semaphore of Java", []string{"jdk.internal.misc.Unsafe.park", "java.util.concurrent.locks.LockSupport.park",
			"java.util.concurrent.locks.AbstractQueuedSynchronizer.acquire", "java.util.concurrent.Semaphore.acquire",
			"shop.Cart.total"}, "waits for a Semaphore"},
		{"a queue by a condition", []string{"jdk.internal.misc.Unsafe.park",
			"java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await",
			"java.util.concurrent.LinkedBlockingQueue.take", "shop.Cart.total"}, "waits for a LinkedBlockingQueue"},
		{"no work in Java", []string{"jdk.internal.misc.Unsafe.park", "java.util.concurrent.LinkedBlockingQueue.take",
			"java.util.concurrent.ThreadPoolExecutor.getTask", "java.util.concurrent.ThreadPoolExecutor.runWorker",
			"java.lang.Thread.run"}, "idle: Java thread pool"},
		{"Object.wait of a program", []string{"java.lang.Object.wait", "shop.Cart.total", "java.lang.Thread.run"},
			"waits for a notify of an object"},
		{"a pool of HikariCP", []string{"jdk.internal.misc.Unsafe.park", "java.util.concurrent.SynchronousQueue.poll",
			"com.zaxxer.hikari.util.ConcurrentBag.borrow", "com.zaxxer.hikari.pool.HikariPool.getConnection",
			"shop.Cart.total"}, "waits for a connection of a HikariCP pool that has none free"},
		{"a pool of DBCP", []string{"jdk.internal.misc.Unsafe.park",
			"java.util.concurrent.locks.AbstractQueuedSynchronizer$ConditionObject.await",
			"org.apache.commons.pool2.impl.LinkedBlockingDeque.takeFirst",
			"org.apache.commons.pool2.impl.GenericObjectPool.borrowObject",
			"org.apache.commons.dbcp2.BasicDataSource.getConnection", "shop.Cart.total"},
			"waits for an object of a Commons Pool that has none free"},
		{"a pool of Tomcat", []string{"jdk.internal.misc.Unsafe.park", "java.util.concurrent.CountDownLatch.await",
			"org.apache.tomcat.jdbc.pool.FairBlockingQueue.poll",
			"org.apache.tomcat.jdbc.pool.ConnectionPool.borrowConnection", "shop.Cart.total"},
			"waits for a connection of a Tomcat JDBC pool that has none free"},
		{"a task of a pool that makes connections", []string{"jdk.internal.misc.Unsafe.park",
			"java.util.concurrent.Semaphore.acquire", "com.zaxxer.hikari.pool.HikariPool$PoolEntryCreator.call",
			"java.util.concurrent.FutureTask.run"}, "waits for a Semaphore"},
		{"a method of the program", []string{"System.ThreadingExtras.Wait", "Shop.Cart.Total"},
			"waits for futex 0x10000, and nothing shows what it is part of"},
		{"sleeps in Java, and may not go on", []string{"syscall", "LinuxWaitBarrier::wait",
			"SafepointSynchronize::block", "SafepointMechanism::process", "JavaThread::sleep", "JVM_Sleep",
			"java.lang.Thread.sleep", "shop.Cart.total"},
			"waits for a safepoint of the JVM, a dump says who has not come to it"},
	} {
		t.Run(c.name, func(t *testing.T) {
			thread := futexThread(100, heap, private, 2)
			thread.Stack = append(native[:len(native):len(native)], c.methods...)
			if c.name == "a method of the program" || c.methods[0] == "syscall" {
				thread.Stack = c.methods
			}
			g := draw(thread).examine(t)
			if got := g.Words(g.Of(100)); got != c.words {
				t.Errorf("it %q, want %q", got, c.words)
			}
		})
	}
}

// TestJoined: a thread waits for the end of another as its stack shows, which proves no deadlock.
func TestJoined(t *testing.T) {
	running := &Thread{TID: 101, Inner: 101, Comm: "o", State: 'R', First: Reading{At: time.Now(), Known: true}}
	d := draw(futexThread(100, heap, untimedPriv, 0), running)
	d.facts.Process(100).Locks = []Lock{{Name: "the end of thread 101", Waiters: []int{100}, Owner: 101, Ends: true}}
	g := d.examine(t)
	if got, want := g.Words(g.Of(100)), `waits for thread 101 "o" to end, as its stack shows`; got != want {
		t.Errorf("it %q, want %q", got, want)
	}
	if w := g.Of(100); w.Certainty != Inferred || w.Mode != One {
		t.Errorf("certainty %d, mode %d", w.Certainty, w.Mode)
	}
}
