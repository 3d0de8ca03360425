import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.lang.management.ManagementFactory;
import java.lang.management.ThreadMXBean;
import java.util.HashMap;

/** Four functions whose shares of CPU time it counts itself: at each line that it reads it writes them, and rounds. */
public class Shares {
	static final ThreadMXBean clock = ManagementFactory.getThreadMXBean();
	static final long[] spent = new long[4];
	static long rounds, sink;
	static final byte[] from = new byte[1 << 16], to = new byte[1 << 16];

	static void numbers() {
		long x = rounds;
		for (int i = 0; i < 300_000; i++) {
			x = x * 31 + (x >>> 7) + i;
		}
		sink += x;
	}

	static void copies() {
		for (int i = 0; i < 40; i++) {
			System.arraycopy(from, i, to, 0, from.length - i);
			sink += to[i];
		}
	}

	static void objects() {
		HashMap<String, Integer> map = new HashMap<>();
		for (int i = 0; i < 300; i++) {
			map.merge("key" + (i & 63), i, Integer::sum);
		}
		sink += map.size();
	}

	static void failures() {
		for (int i = 0; i < 20; i++) {
			try {
				throw new IllegalStateException();
			} catch (IllegalStateException e) {
				sink += e.getStackTrace().length;
			}
		}
	}

	static void work() {
		for (;;) {
			long a = clock.getCurrentThreadCpuTime();
			numbers();
			long b = clock.getCurrentThreadCpuTime();
			copies();
			long c = clock.getCurrentThreadCpuTime();
			objects();
			long d = clock.getCurrentThreadCpuTime();
			failures();
			long e = clock.getCurrentThreadCpuTime();
			synchronized (spent) {
				spent[0] += b - a;
				spent[1] += c - b;
				spent[2] += d - c;
				spent[3] += e - d;
				rounds++;
			}
		}
	}

	public static void main(String[] args) throws Exception {
		Thread t = new Thread(Shares::work, "works");
		t.setDaemon(true);
		t.start();
		System.out.println("ready");
		BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
		while (in.readLine() != null) {
			synchronized (spent) {
				System.out.println(rounds + " " + System.nanoTime() + " " + spent[0] + " " + spent[1] + " " + spent[2]
					+ " " + spent[3]);
			}
		}
	}
}
