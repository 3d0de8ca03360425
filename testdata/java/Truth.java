import java.util.ArrayList;
import java.util.List;
import java.util.function.IntSupplier;

/** Prints its own stack after as many calls as it is told, and stays there. */
public class Truth {
	interface Shape {
		int area(int n);
	}

	static class Base implements Shape {
		public int area(int n) {
			return Truth.viaLambda(n);
		}
	}

	static class Derived extends Base {
		@Override
		public int area(int n) {
			return super.area(n) + 1;
		}
	}

	static final Object outer = new Object(), inner = new Object();
	static int calls, stopAt;

	static int viaLambda(int n) {
		IntSupplier s = () -> locked(n);
		return s.getAsInt();
	}

	static int locked(int n) {
		synchronized (outer) {
			synchronized (inner) {
				return anonymous(n);
			}
		}
	}

	static int anonymous(int n) {
		return new Object() {
			int run() {
				List<Integer> list = new ArrayList<>();
				list.add(n);
				return generic(list);
			}
		}.run();
	}

	static <T extends Number> int generic(List<T> list) {
		int sum = 0;
		for (T t : list) {
			sum += leaf(t.intValue());
		}
		return sum;
	}

	static int leaf(int n) {
		if (++calls == stopAt) {
			report(new Throwable().getStackTrace());
		}
		return n;
	}

	static void report(StackTraceElement[] all) {
		StringBuilder b = new StringBuilder();
		for (StackTraceElement e : all) {
			b.append(e.getClassName()).append('.').append(e.getMethodName()).append(' ').append(e.getFileName())
				.append(':').append(e.getLineNumber()).append('\n');
		}
		System.out.print(b.append("ready\n"));
		System.out.flush();
		while (true) {
			try {
				Thread.sleep(1000000);
			} catch (InterruptedException e) {
				return;
			}
		}
	}

	public static void main(String[] args) {
		stopAt = Integer.parseInt(args[0]);
		Shape shape = new Derived();
		for (int i = 0;; i++) {
			shape.area(i);
		}
	}
}
