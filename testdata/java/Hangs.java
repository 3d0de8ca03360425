import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;

/** Hangs in the way that its argument names. */
public class Hangs {
	/** A task of a pool of two waits for a task of the same pool, twice. */
	static void starves() throws Exception {
		ExecutorService pool = Executors.newFixedThreadPool(2);
		CompletableFuture<Void> begun = new CompletableFuture<>();
		java.util.concurrent.CountDownLatch both = new java.util.concurrent.CountDownLatch(2);
		for (int i = 0; i < 2; i++) {
			pool.submit(() -> {
				both.countDown();
				both.await();
				return orders(pool);
			});
		}
		both.await();
	}

	static int orders(ExecutorService pool) throws Exception {
		return pool.submit(() -> 1).get();
	}

	static void joins() throws Exception {
		Thread other = new Thread(() -> {
			try {
				new java.util.concurrent.CountDownLatch(1).await();
			} catch (InterruptedException e) {
				return;
			}
		}, "settles");
		other.start();
		other.join();
	}

	static void promises() throws Exception {
		new CompletableFuture<String>().get();
	}

	public static void main(String[] args) throws Exception {
		System.out.println("ready");
		System.out.flush();
		switch (args[0]) {
		case "starves":
			starves();
			break;
		case "joins":
			joins();
			break;
		default:
			promises();
		}
	}
}
