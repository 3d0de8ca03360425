import java.net.InetAddress;
import java.net.ServerSocket;
import java.util.concurrent.Executors;

/** A server with an idle pool. */
public class Idle {
    public static void main(String[] args) throws Exception {
        var pool = Executors.newFixedThreadPool(4);
        for (int i = 0; i < 8; i++) pool.submit(() -> {});
        try (var server = new ServerSocket(0, 8, InetAddress.getLoopbackAddress())) {
            System.out.println("ready");
            while (true) server.accept().close();
        }
    }
}
