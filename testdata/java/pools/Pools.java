import io.netty.util.HashedWheelTimer;
import io.netty.util.concurrent.DefaultEventExecutor;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Executor;
import java.util.concurrent.Executors;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import org.apache.kafka.common.utils.LogContext;
import org.apache.kafka.common.utils.Time;
import org.apache.kafka.queue.KafkaEventQueue;
import org.apache.kafka.server.util.ShutdownableThread;
import org.apache.kafka.server.util.timer.SystemTimer;
import org.apache.tomcat.util.threads.TaskQueue;
import org.apache.tomcat.util.threads.TaskThreadFactory;
import org.apache.tomcat.util.threads.ThreadPoolExecutor;
import org.eclipse.jetty.util.thread.QueuedThreadPool;
import org.eclipse.jetty.util.thread.ReservedThreadExecutor;

/** Two threads of each pool: one has no work left, the other is in a task, which waits, and its name says so. */
class Pools {
    public static void main(String[] args) throws Exception {
        for (boolean works : new boolean[] {false, true}) {
            QueuedThreadPool jetty = new QueuedThreadPool(1, 1);
            jetty.setReservedThreads(0);
            jetty.start();
            use("jetty", jetty, works);
            use("tomcat", new ThreadPoolExecutor(1, 1, 1, TimeUnit.HOURS, new TaskQueue(),
                    new TaskThreadFactory("", true, 5)), works);
            use("netty", new DefaultEventExecutor(), works);
            KafkaEventQueue kafka = new KafkaEventQueue(Time.SYSTEM, new LogContext(), "");
            use("kafka", task -> kafka.append(task::run), works);
            use("jdk", Executors.newSingleThreadExecutor(), works);
        }
        ReservedThreadExecutor reserved = new ReservedThreadExecutor(r -> new Thread(r, "reserved").start(), 1);
        reserved.start();
        reserved.tryExecute(() -> {}); // none is there yet: it makes one
        new HashedWheelTimer(r -> new Thread(r, "wheel")).start();
        SystemTimer timer = new SystemTimer("purgatory");
        new ShutdownableThread("reaper") {
            @Override
            public void doWork() {
                try {
                    timer.advanceClock(200);
                } catch (InterruptedException e) {
                    throw new IllegalStateException(e);
                }
            }
        }.start();
        System.out.println("ready");
        new CountDownLatch(1).await();
    }

    /** Runs a task that gives its thread a name, and, if it works, does not end. */
    static void use(String name, Executor pool, boolean works) throws InterruptedException {
        CountDownLatch runs = new CountDownLatch(1);
        pool.execute(() -> {
            Thread.currentThread().setName(works ? name + " works" : name);
            runs.countDown();
            try {
                if (works) new LinkedBlockingQueue<Void>().take();
            } catch (InterruptedException e) {
                throw new IllegalStateException(e);
            }
        });
        runs.await();
    }
}
