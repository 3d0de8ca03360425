import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.ReentrantLock;

/**
 * With one carrier: a virtual thread parks in a synchronized block, which keeps its carrier up to JDK 23, for a lock that
 * another virtual thread has, which is to be run to unlock it and has no carrier.
 */
public class Pinned {
	static final ReentrantLock lock = new ReentrantLock();
	static final Object monitor = new Object();

	static void holds(CountDownLatch held, CountDownLatch go) {
		lock.lock();
		held.countDown();
		try {
			go.await();
		} catch (InterruptedException e) {
			return;
		}
		lock.unlock();
	}

	static void pins(CountDownLatch go) {
		synchronized (monitor) {
			go.countDown();
			lock.lock();
		}
	}

	public static void main(String[] args) throws Exception {
		CountDownLatch held = new CountDownLatch(1), go = new CountDownLatch(1);
		Thread.ofVirtual().name("holds").start(() -> holds(held, go));
		held.await();
		Thread t = Thread.ofVirtual().name("pins").start(() -> pins(go));
		System.out.println("ready");
		System.out.flush();
		t.join();
	}
}
