import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executors;

/** A task fails before it counts the latch down. */
public class Latch {
    static void collect(CountDownLatch latch) throws Exception {
        latch.await(); // HERE
    }

    public static void main(String[] args) throws Exception {
        var pool = Executors.newFixedThreadPool(2);
        var latch = new CountDownLatch(2);
        pool.submit(latch::countDown);
        pool.submit(() -> {
            if (args.length == 0) throw new IllegalStateException();
            latch.countDown();
        });
        System.out.println("ready");
        collect(latch);
    }
}
