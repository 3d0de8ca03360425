import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** Virtual threads: one that spins on its carrier, some that are parked. */
public class Virtual {
	static final CountDownLatch deepest = new CountDownLatch(1);
	static volatile long sink;

	static long deep(int n) {
		if (n > 0) {
			return deep(n - 1) + 1;
		}
		deepest.countDown();
		while (true) {
			sink++;
			if ((sink & 0xfffff) == 0) {
				Thread.yield();
			}
		}
	}

	static void parked(int n, CountDownLatch all) {
		if (n > 0) {
			parked(n - 1, all);
			return;
		}
		all.countDown();
		while (true) {
			LockSupport.park();
		}
	}

	public static void main(String[] args) throws Exception {
		CountDownLatch all = new CountDownLatch(20);
		for (int i = 0; i < 20; i++) {
			Thread.ofVirtual().name("parked-" + i).start(() -> parked(3, all));
		}
		all.await();
		Thread.ofVirtual().name("spins").start(() -> deep(6));
		deepest.await();
		System.out.println("ready");
		System.out.flush();
		Thread.sleep(1000000);
	}
}
