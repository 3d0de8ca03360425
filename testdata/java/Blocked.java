import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Semaphore;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;

/** Virtual threads that wait, each for something else: for locks of a virtual and of a platform thread, and for others. */
public class Blocked {
	static final ReentrantLock lock = new ReentrantLock(), main = new ReentrantLock(true);

	interface Work {
		void run() throws Exception;
	}

	static void start(String name, Work w) {
		Thread.ofVirtual().name(name).start(() -> {
			try {
				w.run();
			} catch (Exception e) {
				throw new AssertionError(e);
			}
		});
	}

	public static void main(String[] args) throws Exception {
		CountDownLatch taken = new CountDownLatch(1);
		start("sleeps", () -> {
			lock.lock();
			taken.countDown();
			Thread.sleep(10_000_000);
		});
		taken.await();
		main.lock();
		start("lock", () -> lock.lock());
		start("fair", () -> main.lock());
		start("queue", () -> new SynchronousQueue<Object>().take());
		start("pool", () -> new SynchronousQueue<Object>().poll(3600, TimeUnit.SECONDS));
		start("semaphore", () -> new Semaphore(0).acquire());
		start("latch", () -> new CountDownLatch(1).await());
		start("future", () -> new CompletableFuture<Object>().get());
		start("condition", () -> {
			ReentrantLock own = new ReentrantLock();
			own.lock();
			own.newCondition().await();
		});
		start("parks", () -> LockSupport.park());
		Thread.sleep(1000);
		System.out.println("ready");
		Thread.sleep(10_000_000);
	}
}
