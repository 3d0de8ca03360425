import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;

/** Virtual threads that hold locks: one that sleeps, which no thread runs, and one that computes. Others wait for both. */
public class Held {
	static final ReentrantLock lock = new ReentrantLock();
	static final Object monitor = new Object();
	static volatile long sink;

	static void start(String name, Runnable r) {
		Thread t = new Thread(r, name);
		t.setDaemon(true);
		t.start();
	}

	static void sleep() {
		try {
			Thread.sleep(10_000_000);
		} catch (InterruptedException e) {
		}
	}

	public static void main(String[] args) throws Exception {
		CountDownLatch taken = new CountDownLatch(2);
		Thread.ofVirtual().name("sleeps").start(() -> {
			lock.lock();
			taken.countDown();
			sleep();
		});
		Thread.ofVirtual().name("spins").start(() -> {
			synchronized (monitor) {
				taken.countDown();
				for (;;) {
					sink++;
				}
			}
		});
		taken.await();
		start("wants the lock", () -> lock.lock());
		start("wants the monitor", () -> {
			synchronized (monitor) {
			}
		});
		System.out.println("ready");
		sleep();
	}
}
