import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** Virtual threads that wait, as many as it is told, of several kinds; each has one possible stack. */
public class Parked {
	static final ReentrantLock lock = new ReentrantLock();

	static void rest(int n, CountDownLatch all) throws Exception {
		if (n > 0) {
			rest(n - 1, all);
			return;
		}
		all.countDown();
		while (true) {
			LockSupport.park();
		}
	}

	static void sleeps(CountDownLatch all) throws Exception {
		all.countDown();
		Thread.sleep(1000000);
	}

	static void locks(CountDownLatch all) throws Exception {
		all.countDown();
		lock.lock();
	}

	interface Work {
		void on(CountDownLatch all) throws Exception;
	}

	static Runnable of(Work w, CountDownLatch all) {
		return () -> {
			try {
				w.on(all);
			} catch (Exception e) {
				throw new AssertionError(e);
			}
		};
	}

	public static void main(String[] args) throws Exception {
		int count = Integer.parseInt(args[0]), warm = Integer.parseInt(args[1]);
		lock.lock();
		for (int i = 0; i < warm; i++) { // until what is called is compiled
			Thread t = Thread.ofVirtual().start(() -> {
				int n = 0;
				while (n++ < 3) {
					LockSupport.parkNanos(1);
				}
			});
			t.join();
		}
		CountDownLatch all = new CountDownLatch(count + 3);
		for (int i = 0; i < count; i++) {
			int depth = i % 5;
			Thread.ofVirtual().name("rests-" + depth).start(of(a -> rest(depth, a), all));
		}
		Thread.ofVirtual().name("sleeps").start(of(Parked::sleeps, all));
		Thread.ofVirtual().name("locks").start(of(Parked::locks, all));
		ExecutorService pool = Executors.newThreadPerTaskExecutor(Thread.ofVirtual().name("pooled").factory());
		pool.execute(of(a -> rest(1, a), all));
		all.await();
		Thread.sleep(500);
		System.out.println("ready");
		System.out.flush();
		Thread.sleep(1000000);
	}
}
