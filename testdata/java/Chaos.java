import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;

/** Does what the JVM has stubs and slow paths for, below main, loop, f1, f2, f3, f4. */
public class Chaos {
	static volatile Object sink;
	static volatile long total;
	static final Object lock = new Object();

	interface Op {
		long run(int n);
	}

	static final List<Op> ops = new ArrayList<>();

	static {
		ops.add(n -> {
			byte[] a = new byte[1000 + n % 100], b = new byte[2000];
			System.arraycopy(a, 0, b, 3, a.length);
			System.arraycopy(b, 1, b, 5, 1000);
			return b[n % 1000];
		});
		ops.add(n -> {
			try {
				throw new IllegalStateException("of the test");
			} catch (IllegalStateException e) {
				return e.getMessage().length();
			}
		});
		ops.add(n -> (long) (Math.sin(n) + Math.cos(n) + Math.pow(n, 1.1) + Math.log(n + 1) + Math.exp(n % 10)));
		ops.add(n -> {
			String s = "x" + n + "-" + (n * 31L);
			return s.hashCode() + s.indexOf("-");
		});
		ops.add(n -> {
			synchronized (lock) {
				return n + lock.hashCode();
			}
		});
		ops.add(n -> {
			Map<String, Integer> m = new HashMap<>();
			for (int i = 0; i < 20; i++) {
				m.put("k" + i, i);
			}
			sink = m;
			return m.get("k3");
		});
		ops.add(n -> {
			try {
				return (Integer) Chaos.class.getMethod("called", int.class).invoke(null, n);
			} catch (ReflectiveOperationException e) {
				throw new AssertionError(e);
			}
		});
		ops.add(n -> {
			Object[] from = new Object[50], to = new String[50];
			System.arraycopy(from, 0, to, 0, 50);
			return System.nanoTime() + ((Object[]) to.clone()).length;
		});
		ops.add(n -> {
			int[] deep = {0};
			return recurse(n % 20, deep);
		});
		ops.add(n -> {
			try {
				return ((String) (n % 2 == 0 ? null : sink)).length();
			} catch (NullPointerException | ClassCastException e) {
				return 1;
			}
		});
	}

	static int recurse(int n, int[] x) {
		return n == 0 ? x[0]++ : recurse(n - 1, x) + 1;
	}

	public static int called(int n) {
		return n;
	}

	static long f4(int n) {
		return ops.get(n % ops.size()).run(n);
	}

	static long f3(int n) {
		return f4(n) + 1;
	}

	static long f2(int n) {
		return f3(n) + f3(n + 1);
	}

	static long f1(int n) {
		long sum = 0;
		for (int i = 0; i < 10; i++) {
			sum += f2(n + i);
		}
		return sum;
	}

	static long loop(int n) {
		long sum = 0;
		for (int i = 0; i < 1000; i++) {
			sum += f1(n + i);
		}
		return sum;
	}

	public static void main(String[] args) {
		Thread gc = new Thread(() -> {
			while (true) {
				try {
					Thread.sleep(50);
				} catch (InterruptedException e) {
					return;
				}
				System.gc();
			}
		}, "collects");
		gc.setDaemon(true);
		gc.start();
		System.out.println("ready");
		System.out.flush();
		long sum = 0;
		for (int n = 0;; n = (n + 7) & 0xffff) {
			sum += loop(n);
			total = sum;
		}
	}
}
