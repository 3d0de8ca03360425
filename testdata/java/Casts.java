/** Casts to interfaces by turns, for which code of C1 pushes two words and calls a stub of the JVM. */
public class Casts {
	interface A { int a(int n); }
	interface B { int b(int n); }
	interface C { int c(int n); }
	interface D { }
	interface E { }

	static class All implements A, B, C, D, E {
		public int a(int n) { return n * 31; }
		public int b(int n) { return n ^ 5; }
		public int c(int n) { return n + 7; }
	}

	static class Some implements E, D, C, B, A {
		public int a(int n) { return n * 17; }
		public int b(int n) { return n ^ 3; }
		public int c(int n) { return n - 7; }
	}

	static int sink;

	static int work(Object x, Object y, int n) {
		int sum = 0;
		for (int i = 0; i < 20; i++) {
			Object o = (i & 1) == 0 ? x : y;
			sum += ((A) o).a(n);
			sum += ((B) o).b(i);
			if (o instanceof C) {
				sum += ((C) o).c(sum);
			}
		}
		return sum;
	}

	static int rounds(Object x, Object y, int n) {
		int sum = 0;
		for (int i = 0; i < 50; i++) {
			sum += work(x, y, n + i);
		}
		return sum;
	}

	public static void main(String[] args) {
		Object x = new All(), y = new Some();
		System.out.println("ready");
		for (int n = 0;; n++) {
			sink += rounds(x, y, n);
		}
	}
}
