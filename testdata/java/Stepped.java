/**
 * A chain of methods of which each has one caller, so that the innermost one says which the others are: main, rounds,
 * outer, middle, inner, and what inner calls. When it reads an r, outer takes a way that it never took (an uncommon
 * trap); when it reads an l, inner has a class loaded by which code is given up that its callers are in.
 */
public class Stepped {
	static volatile long sink;
	static int rare;
	static boolean load;

	abstract static class Shape {
		abstract int area(int n);
	}

	static final class Square extends Shape {
		int area(int n) {
			return n * n + 1;
		}
	}

	static final class Circle extends Shape {
		int area(int n) {
			return 3 * n + Integer.bitCount(n);
		}
	}

	/** Is loaded when it is needed, and has Circle loaded: who checks the code of Stepped would do that else. */
	static final class Second {
		static Shape get() {
			return new Circle();
		}
	}

	static Shape shape = new Square();
	static final int[] from = new int[64], to = new int[64];

	static int leaf(int n) {
		return n ^ sinkless(n);
	}

	static int sinkless(int n) { // is inlined into leaf
		int sum = 0;
		for (int i = 0; i < 5; i++) {
			sum += n * i;
		}
		return sum;
	}

	static synchronized int locked(int n) {
		return n + to[n & 63];
	}

	static int many(int a, long b, double c, int d, int e, long f, int g, int h, double i, int j) {
		return a + (int) b + (int) c + d + e + (int) f + g + h + (int) i + j;
	}

	static int inner(int n) {
		int sum = leaf(n) + shape.area(n) + locked(n);
		System.arraycopy(from, n & 7, to, 3, 40);
		sum += many(n, n, n, n, n, n, n, n, n, n);
		if (load) {
			load = false;
			shape = Second.get(); // middle and outer rest on there being one class that extends Shape
			sum += shape.area(n);
		}
		return sum;
	}

	static int middle(int n) {
		return inner(n) + shape.area(n);
	}

	static int outer(int n) {
		int sum = 0;
		for (int i = 0; i < 8; i++) {
			sum += middle(n + i);
		}
		if (rare == 1) { // never, until it is
			rare = 0;
			sum = leaf(sum) ^ shape.area(sum);
		}
		return sum + shape.area(n);
	}

	static void rounds() {
		for (int n = 0;; n++) {
			sink += outer(n);
		}
	}

	public static void main(String[] args) {
		Thread reads = new Thread(() -> {
			try {
				for (int c; (c = System.in.read()) >= 0;) {
					if (c == 'r') {
						rare = 1;
					} else if (c == 'l') {
						load = true;
					}
				}
			} catch (java.io.IOException e) {
				throw new AssertionError(e);
			}
		}, "reads");
		reads.setDaemon(true);
		reads.start();
		for (int i = 0; i < 20000; i++) {
			sink += outer(i);
		}
		System.out.println("ready");
		System.out.flush();
		rounds();
	}
}
