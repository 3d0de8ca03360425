import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.locks.ReentrantLock;

/** Two threads take two locks in two orders: monitors, or with an argument ReentrantLocks. */
public class Locks {
    static final CyclicBarrier both = new CyclicBarrier(2);

    static void transfer(Object from, Object to) throws Exception {
        synchronized (from) {
            both.await();
            synchronized (to) { // the JVM itself (jstack) names the line below
                System.out.println("done"); // HERE
            }
        }
    }

    static void move(ReentrantLock from, ReentrantLock to) throws Exception {
        from.lock();
        both.await();
        to.lock(); // HERE
        System.out.println("done");
    }

    interface Work { void run() throws Exception; }

    static void start(Work w) {
        new Thread(() -> {
            try {
                w.run();
            } catch (Exception e) {
                e.printStackTrace();
            }
        }).start();
    }

    public static void main(String[] args) {
        Object a = new Object(), b = new Object();
        ReentrantLock c = new ReentrantLock(), d = new ReentrantLock();
        if (args.length == 0) {
            start(() -> transfer(a, b));
            start(() -> transfer(b, a));
        } else {
            start(() -> move(c, d));
            start(() -> move(d, c));
        }
        System.out.println("ready");
    }
}
