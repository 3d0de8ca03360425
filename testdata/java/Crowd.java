import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** As many threads as its argument says, each parked below 20 calls. */
public class Crowd {
	static void down(int n, CountDownLatch at) {
		if (n > 0) {
			down(n - 1, at);
			return;
		}
		at.countDown();
		for (;;) {
			LockSupport.park();
		}
	}

	public static void main(String[] args) throws Exception {
		int n = Integer.parseInt(args[0]);
		CountDownLatch at = new CountDownLatch(n);
		for (int i = 0; i < n; i++) {
			Thread t = new Thread(null, () -> down(20, at), "crowd-" + i, 256 << 10);
			t.setDaemon(true);
			t.start();
		}
		at.await();
		System.out.println("ready");
		Thread.sleep(Long.MAX_VALUE);
	}
}
