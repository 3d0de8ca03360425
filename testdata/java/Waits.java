import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.FutureTask;

/** Threads that wait for what others compute or initialise: each has one that it waits for. */
public class Waits {
	static final CountDownLatch both = new CountDownLatch(2);

	/** Two classes whose initialisers need each other. */
	static class Left {
		static int value;
		static {
			meet();
			value = Right.value;
		}
	}

	static class Right {
		static int value;
		static {
			meet();
			value = Left.value;
		}
	}

	static class Slow {
		static int value;
		static {
			rest();
		}
	}

	static void meet() {
		both.countDown();
		try {
			both.await();
		} catch (InterruptedException e) {
			throw new AssertionError(e);
		}
	}

	static void rest() {
		try {
			Thread.sleep(1000000);
		} catch (InterruptedException e) {
			throw new AssertionError(e);
		}
	}

	static Thread start(String name, Runnable r) {
		Thread t = new Thread(r, name);
		t.setDaemon(true);
		t.start();
		return t;
	}

	static void get(Future<?> f) {
		try {
			f.get();
		} catch (Exception e) {
			throw new AssertionError(e);
		}
	}

	public static void main(String[] args) throws Exception {
		start("left", () -> System.out.print(Left.value));
		start("right", () -> System.out.print(Right.value));
		start("slow", () -> System.out.print(Slow.value));
		FutureTask<Integer> task = new FutureTask<>(() -> {
			rest();
			return 1;
		});
		start("computes", task);
		ExecutorService pool = Executors.newFixedThreadPool(1, r -> {
			Thread t = new Thread(r, "only");
			t.setDaemon(true);
			return t;
		});
		CompletableFuture<Integer> later = CompletableFuture.supplyAsync(() -> {
			rest();
			return 1;
		}, pool);
		Thread.sleep(300);
		start("init", () -> System.out.print(Slow.value));
		start("future", () -> get(task));
		start("completable", () -> get(later));
		start("starved", () -> get(pool.submit(() -> 1)));
		start("join", () -> {
			try {
				Thread.currentThread().getThreadGroup();
				for (Thread t : Thread.getAllStackTraces().keySet()) {
					if (t.getName().equals("computes")) {
						t.join();
					}
				}
			} catch (InterruptedException e) {
				throw new AssertionError(e);
			}
		});
		Thread.sleep(500);
		System.out.println("ready");
		System.out.flush();
		rest();
	}
}
