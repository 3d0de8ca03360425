import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;

/** A job each half minute. */
public class Schedule {
    public static void main(String[] args) {
        Executors.newScheduledThreadPool(2).scheduleAtFixedRate(() -> {}, 0, 30, TimeUnit.SECONDS);
        System.out.println("ready");
    }
}
