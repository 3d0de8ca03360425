/**
 * Virtual threads that come and go while the collector moves them: one named deep-N has N frames of deep on its stack, and
 * yields now and then.
 */
public class Mounted {
	static volatile Object sink;

	static void turns() {
		for (int turn = 0; turn < 20; turn++) {
			for (int i = 0; i < 2000; i++) {
				sink = new byte[200];
			}
			Thread.yield();
		}
	}

	static void deep(int n) {
		if (n > 1) {
			deep(n - 1);
		} else {
			turns();
		}
	}

	public static void main(String[] args) throws Exception {
		System.out.println("ready");
		System.out.flush();
		while (true) {
			Thread[] all = new Thread[8];
			for (int i = 0; i < all.length; i++) {
				int n = i + 1;
				all[i] = Thread.ofVirtual().name("deep-" + n).start(() -> deep(n));
			}
			for (Thread t : all) {
				t.join();
			}
		}
	}
}
