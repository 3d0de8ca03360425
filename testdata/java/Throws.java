import java.nio.ByteBuffer;

/** Exceptions that leave several methods, and copies out of the heap: what the JVM has stubs for that nothing calls. */
public class Throws {
	static final class Stop extends RuntimeException {
		final int depth;

		Stop(int depth) {
			super(null, null, false, false);
			this.depth = depth;
		}
	}

	static final ByteBuffer direct = ByteBuffer.allocateDirect(1 << 16);
	static final byte[] heap = new byte[1 << 12];
	static volatile long sink;

	static int down(int n, int to) {
		if (n == 0) {
			throw new Stop(to);
		}
		try {
			return down(n - 1, to) + 1;
		} catch (Stop s) {
			if (n < s.depth) {
				throw s;
			}
			return n;
		}
	}

	static long work(int i) {
		direct.clear();
		direct.put(heap);
		return down(8, i % 9) + direct.position();
	}

	static void rounds() {
		for (int i = 0;; i++) {
			sink += work(i);
		}
	}

	public static void main(String[] args) {
		System.out.println("ready");
		System.out.flush();
		rounds();
	}
}
