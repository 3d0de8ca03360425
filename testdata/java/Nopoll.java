/** A counted loop without a safepoint: with the flags of the test no thread can stop the others meanwhile. */
public class Nopoll {
	static int[] a = new int[1024];

	static int hot() {
		int sum = 0;
		for (int i = 0; i < Integer.MAX_VALUE; i++) {
			sum += a[i & 1023] ^ i;
			a[sum & 1023] = i;
		}
		return sum;
	}

	static void run() {
		int sum = 0;
		for (int i = 0; i < 1000; i++) {
			sum += hot();
		}
		System.out.println(sum);
	}

	public static void main(String[] args) throws Exception {
		Thread t = new Thread(() -> {
			while (true) {
				System.gc();
			}
		}, "collects");
		t.setDaemon(true);
		t.start();
		System.out.println("ready");
		System.out.flush();
		run();
	}
}
