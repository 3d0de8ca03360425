import java.util.concurrent.CountDownLatch;
import java.util.concurrent.locks.LockSupport;

/** As many threads as its first argument says, each parked below 20 calls, or with a second one each at a monitor. */
public class Crowd {
	static final Object[] monitors = new Object[10];

	static void down(int n, CountDownLatch at, Object monitor) {
		if (n > 0) {
			down(n - 1, at, monitor);
			return;
		}
		at.countDown();
		if (monitor != null) {
			synchronized (monitor) {
				throw new IllegalStateException("it is held for ever");
			}
		}
		for (;;) {
			LockSupport.park();
		}
	}

	static void begin(int n, boolean wait) throws Exception {
		CountDownLatch at = new CountDownLatch(n);
		for (int i = 0; i < n; i++) {
			Object monitor = wait ? monitors[i % monitors.length] : null;
			Thread t = new Thread(null, () -> down(20, at, monitor), "crowd-" + i, 256 << 10);
			t.setDaemon(true);
			t.start();
		}
		at.await();
		System.out.println("ready");
		Thread.sleep(Long.MAX_VALUE);
	}

	static void hold(int k, int n) throws Exception {
		if (k == monitors.length) {
			begin(n, true);
			return;
		}
		synchronized (monitors[k] = new Object()) {
			hold(k + 1, n);
		}
	}

	public static void main(String[] args) throws Exception {
		int n = Integer.parseInt(args[0]);
		if (args.length > 1) {
			hold(0, n);
		} else {
			begin(n, false);
		}
	}
}
