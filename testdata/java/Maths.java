/** Is nearly always in what the JVM does without a frame: functions of Math, and the end of constructors. */
public class Maths {
	static volatile Object sink;

	static final class Box {
		final double value;

		Box(double value) {
			this.value = value;
		}
	}

	static double work(int n) {
		double x = 0;
		for (int i = 0; i < 50; i++) {
			x += Math.sin(n + i) + Math.cos(n - i) + Math.tan(i) + Math.pow(n, 1.1) + Math.exp(i % 10) + Math.log(i + 1);
			x += Math.log10(n + 1);
			sink = new Box(x);
		}
		return x;
	}

	static double rounds() {
		double x = 0;
		for (int i = 0; i < 200; i++) {
			x += work(i);
		}
		return x;
	}

	public static void main(String[] args) {
		System.out.println("ready");
		System.out.flush();
		for (;;) {
			rounds();
		}
	}
}
