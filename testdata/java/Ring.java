/** Calls in a ring, a-b-c-a, 31 deep, for ever: each sample has one possible chain. */
public class Ring {
	static volatile long sink;
	static int rounds;

	static int a(int depth) {
		return depth == 0 ? leaf() : b(depth - 1) + 1;
	}

	static int b(int depth) {
		return depth == 0 ? leaf() : c(depth - 1) + 2;
	}

	static int c(int depth) {
		return depth == 0 ? leaf() : a(depth - 1) + 3;
	}

	static int leaf() {
		return ++rounds & 7;
	}

	static long round() {
		long sum = 0;
		for (int i = 0; i < 100; i++) {
			sum += a(30);
		}
		return sum;
	}

	public static void main(String[] args) {
		System.out.println("ready");
		System.out.flush();
		while (true) {
			sink += round();
		}
	}
}
