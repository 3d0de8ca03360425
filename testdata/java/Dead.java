import java.util.concurrent.Semaphore;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.concurrent.locks.ReentrantReadWriteLock;

/** Threads that wait for one another: two cycles, and waits that are none. */
public class Dead {
	static final Object first = new Object(), second = new Object(), quiet = new Object();
	static final ReentrantLock one = new ReentrantLock(true), two = new ReentrantLock();
	static final ReentrantReadWriteLock rw = new ReentrantReadWriteLock();
	static final Semaphore semaphore = new Semaphore(0);
	static volatile int held;

	static void start(String name, Runnable r) {
		Thread t = new Thread(r, name);
		t.setDaemon(true);
		t.start();
	}

	static synchronized void holds() {
		held++;
	}

	static void both() {
		while (held < 4) {
			sleep(1);
		}
	}

	static void sleep(long ms) {
		try {
			Thread.sleep(ms);
		} catch (InterruptedException e) {
			throw new AssertionError(e);
		}
	}

	static void nested(Object a, Object b) {
		synchronized (a) {
			holds();
			both();
			synchronized (b) {
				sleep(1);
			}
		}
	}

	static void locked(ReentrantLock a, ReentrantLock b) {
		a.lock();
		holds();
		both();
		b.lock();
	}

	public static void main(String[] args) throws Exception {
		start("m-é", () -> nested(first, second));
		start("m-日", () -> nested(second, first));
		start("l-1", () -> locked(one, two));
		start("l-2", () -> locked(two, one));
		both();
		start("third", () -> {
			synchronized (first) {
				sleep(1);
			}
		});
		start("waits", () -> {
			synchronized (quiet) {
				try {
					quiet.wait();
				} catch (InterruptedException e) {
					throw new AssertionError(e);
				}
			}
		});
		start("parks", () -> LockSupport.park(quiet));
		start("semaphore", () -> semaphore.acquireUninterruptibly());
		start("writer", () -> {
			rw.writeLock().lock();
			sleep(1000000);
		});
		sleep(100);
		start("reader", () -> rw.readLock().lock());
		start("spins", () -> {
			while (true) {
				held++;
			}
		});
		sleep(300);
		System.out.println("ready");
		System.out.flush();
		sleep(1000000);
	}
}
