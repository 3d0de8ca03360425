/** A hot recursion on a class with one implementor, below which a second is loaded: frames are to be deoptimised. */
public class Deopt {
	abstract static class Step {
		abstract int step(int n);
	}

	static class First extends Step {
		int step(int n) {
			return Deopt.rec(this, n - 1) + 1;
		}
	}

	static class Second extends Step {
		int step(int n) {
			return n;
		}
	}

	static boolean deopt;

	static int rec(Step s, int n) {
		if (n == 0) {
			return end();
		}
		return s.step(n);
	}

	static int end() {
		if (deopt) {
			Step second = new Second();
			second.step(1);
			System.out.println("ready");
			System.out.flush();
			stay();
		}
		return 1;
	}

	static void stay() {
		while (true) {
			try {
				Thread.sleep(1000000);
			} catch (InterruptedException e) {
				return;
			}
		}
	}

	static int mid(Step s) {
		return rec(s, 10);
	}

	static int go(Step s) {
		int sum = 0;
		for (int i = 0; i < 1; i++) {
			sum += mid(s);
		}
		return sum;
	}

	public static void main(String[] args) {
		Step s = new First();
		for (int i = 0; i < 100000; i++) {
			go(s);
		}
		deopt = true;
		go(s);
	}
}
