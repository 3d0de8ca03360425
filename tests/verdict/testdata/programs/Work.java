import java.util.Arrays;
import java.util.concurrent.Executors;

/** A task computes and leaves garbage, and its creator waits for it. */
public class Work {
    static String join(int n) {
        StringBuilder b = new StringBuilder();
        for (int i = 0; i < 20000; i++) b.append(i * n).append(',');
        return b.toString();
    }

    static int parse(String text) {
        return Arrays.stream(text.split(",")).mapToInt(s -> s.hashCode()).sum();
    }

    public static void main(String[] args) throws Exception {
        var pool = Executors.newSingleThreadExecutor();
        var done = pool.submit(() -> {
            for (int n = 0; ; n = parse(join(n)));
        });
        System.out.println("ready");
        done.get();
    }
}
